# dmtcp.bash - programs of DMTCP, and a program of several tasks that it saves, for the tests of the driver dmtcp; a file of tests loads
# helper.bash and restored.bash first. DMTCP: folder of its programs.

# dmtcp_link: the programs of DMTCP in the folder LINKS, with a dmtcp_restart that notes its call in a file calls. In a folder with
# a file hang, it hangs once, and with a file quit, it ends once.
dmtcp_link() {
	ln -s "$DMTCP"/* "$LINKS"
	rm "$LINKS/dmtcp_restart"
	printf '#!/bin/sh\necho restore >>calls\n! mv hang hung 2>/dev/null || exec sleep 3600\n! mv quit gone 2>/dev/null || exit 85\nexec "%s/dmtcp_restart" "$@"\n' "$DMTCP" >"$LINKS/dmtcp_restart"
	chmod 755 "$LINKS" "$LINKS/dmtcp_restart"
}

# hangs_once SECONDS: of two checkpoints of the job, the first restore of the later one hangs, and is given up after that time. Opens all gates.
hangs_once() {
	run -0 rota checkpoint "$job" --wait
	run -0 rota checkpoint "$job" --end --wait
	eventually has_left "$job"
	rota admin setting change checkpoint_wait_s --value="$1"
	: >hang
	run -0 rota restart "$job"
	eventually eval '[ "$(sql "select state from acct.checkpoint where job_id = $job and generation = 2")" = failed ]'
	rota admin setting change checkpoint_wait_s --value=60
	touch go
	[ "$(sql "select message from acct.checkpoint where job_id = $job and generation = 2")" = "DMTCP did not restore the program within $1 seconds" ]
}

# talk_make: the program talk, whose tasks 0 and 1 send each other a number over TCP, back and forth. Task 0 waits at the gates of
# restored.bash while a number is under way. Further tasks only wait for the last gate. TALK_HOST: address of task 0 for the other one.
talk_make() {
	cat >"$PROGRAMS/talk.c" <<-'END'
		#include "gate.h"
		#include <arpa/inet.h>
		static int listen_any(void)
		{
			struct sockaddr_in address = {.sin_family = AF_INET};
			socklen_t size = sizeof address;
			int fd = socket(AF_INET, SOCK_STREAM, 0);
			FILE *file = fopen("port.part", "w");
			if (!file || bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, 1) < 0 ||
			    getsockname(fd, (struct sockaddr *)&address, &size) < 0 || fprintf(file, "%d", ntohs(address.sin_port)) < 0 ||
			    fclose(file) != 0 || rename("port.part", "port") < 0)
				exit(1);
			return accept(fd, NULL, NULL);
		}
		static int connect_other(void)
		{
			const char *host = getenv("TALK_HOST");
			struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = inet_addr(host ? host : "127.0.0.1")};
			int fd = socket(AF_INET, SOCK_STREAM, 0), port;
			FILE *file;
			while (!(file = fopen("port", "r")))
				usleep(20000);
			if (fscanf(file, "%d", &port) != 1)
				exit(1);
			address.sin_port = htons((uint16_t)port);
			return connect(fd, (struct sockaddr *)&address, sizeof address) < 0 ? -1 : fd;
		}
		int main(void)
		{
			int rank = atoi(getenv("ROTA_TASK_ID")), fd;
			long x = 1, sum = 0;
			if (rank > 1)
				return gate(12, NULL), printf("task %d\n", rank) < 0;
			if ((fd = rank == 0 ? listen_any() : connect_other()) < 0)
				return 1;
			for (int i = 0; i < 2000; i++) {
				if (rank == 0 && write(fd, &x, sizeof x) != sizeof x)
					return 1;
				if (rank == 0 && i > 0 && i % 150 == 0)
					gate(i / 150, NULL);
				if (read(fd, &x, sizeof x) != sizeof x)
					return 1;
				x = (x * 31 + i + rank) % 1000003;
				if (rank == 1 && write(fd, &x, sizeof x) != sizeof x)
					return 1;
				sum = (sum * 7 + x) % 1000003;
				if (i % 100 == 0)
					printf("%d %ld\n", i, sum), fflush(stdout);
			}
			printf("%ld\n", sum);
			return 0;
		}
	END
	cc -std=gnu17 -O1 -Wall -Wextra -Werror -o "$PROGRAMS/talk" "$PROGRAMS/talk.c"
}

# talk_submit TASKS NODES [OPTION]...: a job of so many tasks that run talk, and have come to the first gate.
talk_submit() {
	local tasks=$1 nodes=$2
	shift 2
	rm -f at.* go port
	printf '#!/bin/bash\n%s/talk\necho "ended with $?"\n' "$PROGRAMS" >talk.sh
	job=$(owner rota submit --parsable --checkpoint=dmtcp --run=tasks --nodes="$nodes" --ntasks="$tasks" --output=out.%t "$@" talk.sh)
	eventually runs
	eventually [ -e at.1 ]
}

# talk_expect: the output of talk without a disturbance, in the files expected/out.0 and out.1.
talk_expect() {
	local other
	mkdir expected
	(
		cd expected && : >go
		ROTA_TASK_ID=1 "$PROGRAMS/talk" >out.1 &
		other=$!
		ROTA_TASK_ID=0 "$PROGRAMS/talk" >out.0
		wait "$other"
	)
}

talk_is_as_expected() {
	local rank
	run -0 rota wait "$job"
	for rank in 0 1; do
		diff "out.$rank" <(cat "expected/out.$rank"; echo "ended with 0")
	done
	[ ! -e checkpoints ]
}
