/* kind_ssh.c - reads private keys by ssh-keygen (kind_ssh.h).
 *
 * Called by: kind.c. */
#include "credmgr/kind/kind_ssh.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "credmgr/kind/kind_program.h"
#include "lib/seal.h"

enum { SSH_NO_KEY = 255 /* exit status of ssh-keygen */ };

/* Set the fingerprint of a public key, a line "TYPE BASE64 COMMENT", as ssh-keygen -l prints it. */
static bool ssh_set_fingerprint(struct kind_facts *facts, const char *line)
{
	const char *key = line + strcspn(line, " ") + 1;
	size_t size = *line ? strcspn(key, " \r\n") : 0;
	unsigned char *blob = xmalloc(size + 3), hash[SEAL_HASH_SIZE];
	char text[64] = "SHA256:";
	int length = size > 0 && size % 4 == 0 ? EVP_DecodeBlock(blob, (const unsigned char *)key, (int)size) : -1;

	if (length > 2) {
		length -= (key[size - 1] == '=') + (key[size - 2] == '=');
		seal_hash(blob, (size_t)length, hash);
		EVP_EncodeBlock((unsigned char *)text + strlen(text), hash, sizeof hash);
		text[strcspn(text, "=")] = '\0';
		kind_facts_subject(facts, text);
	}
	free(blob);
	return length > 2;
}

bool kind_ssh_inspect(const struct kind_secret *secret, const struct kind_options *options, struct kind_facts *facts,
		      struct err *e)
{
	char *arguments[] = {"ssh-keygen", "-y", "-P", "", "-f", "/proc/self/fd/3", NULL};
	char *environment[] = {"PATH=/usr/bin:/bin", "LC_ALL=C", NULL};
	struct kind_program program = {.path = "/usr/bin/ssh-keygen",
				       .arguments = arguments,
				       .environment = environment,
				       .input = "",
				       .file = kind_secret_file(secret->bytes, secret->size)};
	struct kind_result result;
	bool good = kind_program_run(&program, &result, e);

	(void)options;
	if (good && strstr(result.error, "passphrase"))
		good = err_set(e, "the key has a passphrase; make a copy without one by ssh-keygen -p, and add that");
	else if (good && WIFEXITED(result.status) && WEXITSTATUS(result.status) == SSH_NO_KEY)
		/* ssh-keygen also ends so where the host is the reason */
		good = err_set(e, "this is no private key of SSH%s%s", *result.error ? ": " : "", result.error);
	else if (good && !kind_program_good(&result, "ssh-keygen", e))
		good = false;
	else if (good)
		good = ssh_set_fingerprint(facts, result.output.bytes) || err_set(e, "ssh-keygen printed no public key");
	kind_program_free(&result);
	close(program.file);
	return good;
}
