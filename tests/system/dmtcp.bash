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
	# Two tasks that send each other numbers as fast as they can, until there is a file go. Each checks what it receives.
	sed '/int main/,$d' "$PROGRAMS/talk.c" >"$PROGRAMS/flood.c"
	cat >>"$PROGRAMS/flood.c" <<-'END'
		#include <poll.h>
		enum { BLOCK = 8192 };
		int main(void)
		{
			static long out[BLOCK], in[BLOCK];
			int rank = atoi(getenv("ROTA_TASK_ID")), fd = rank == 0 ? listen_any() : connect_other(), ends = 0;
			size_t put = 0, got = 0;
			long sent = 0, received = 0;
			ssize_t n = 1;
			while (n != 0 || !ends) {
				struct pollfd p = {.fd = fd, .events = (short)(ends ? POLLIN : POLLIN | POLLOUT)};
				if (poll(&p, 1, 1000) < 0)
					continue;
				for (int i = 0; put == 0 && i < BLOCK; i++)
					out[i] = sent * BLOCK + i;
				if (p.revents & POLLOUT && (n = send(fd, (char *)out + put, sizeof out - put, MSG_DONTWAIT)) > 0)
					put += (size_t)n;
				if (put == sizeof out)
					put = 0, sent++;
				if (put == 0 && !ends && access("go", F_OK) == 0)
					ends = shutdown(fd, SHUT_WR) == 0;
				if (p.revents & (POLLIN | POLLHUP) && (n = recv(fd, (char *)in + got, sizeof in - got, MSG_DONTWAIT)) > 0)
					got += (size_t)n;
				for (int i = 0; got == sizeof in && i < BLOCK; i++)
					if (in[i] != received * BLOCK + i)
						return 1;
				if (got == sizeof in) {
					char name[32];
					got = 0, received++;
					snprintf(name, sizeof name, "received.%d", rank);
					FILE *file = received % 100 == 0 ? fopen(name, "w") : NULL;
					if (file && (fprintf(file, "%ld\n", received) < 0 || fclose(file) != 0))
						return 1;
				}
				n = p.revents & (POLLIN | POLLHUP) ? n : 1;
			}
			return printf("all was received\n") < 0 || got != 0;
		}
	END
	cc -std=gnu17 -O1 -Wall -Wextra -Werror -Wno-unused-function -o "$PROGRAMS/flood" "$PROGRAMS/flood.c"
}

# flood_submit [OPTION]...: a job of two tasks on two nodes that run flood, and have begun.
flood_submit() {
	rm -f at.* go port received.*
	printf '#!/bin/bash\nTALK_HOST=%s %s/flood\necho "ended with $?"\n' "${TALK_HOST:-127.0.0.1}" "$PROGRAMS" >flood.sh
	job=$(rota submit --parsable --checkpoint=dmtcp --run=tasks --nodes=2 --ntasks=2 --output=out.%t "$@" flood.sh)
	eventually runs
	flood_goes_on
}

# flood_goes_on: both tasks have received more.
flood_goes_on() {
	rm -f received.*
	eventually eval '[ -s received.0 ] && [ -s received.1 ]'
}

# talk_submit TASKS NODES [OPTION]...: a job of so many tasks that run talk, and have come to the first gate.
talk_submit() {
	local tasks=$1 nodes=$2
	shift 2
	rm -f at.* go port
	printf '#!/bin/bash\nTALK_HOST=%s %s/talk\necho "ended with $?"\n' "${TALK_HOST:-127.0.0.1}" "$PROGRAMS" >talk.sh
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

# bit_is_flipped NODES: one bit of an image of task 1 is changed, which is not run, and all go on from the checkpoint before.
bit_is_flipped() {
	local images
	talk_expect
	talk_submit 2 "$1"
	run -0 rota checkpoint "$job" --wait
	pass_gate 1
	run -0 rota checkpoint "$job" --end --wait
	eventually has_left "$job"
	images=(checkpoints/"$job".*/2/task.1/*.dmtcp)
	flip_bit "${images[0]}"
	touch go
	run -0 rota restart "$job"
	talk_is_as_expected
	[ "$(states)" = "1 discarded, 2 failed" ]
	[ "$(grep -c . calls)" = 2 ]
}
