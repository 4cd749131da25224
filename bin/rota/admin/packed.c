/* packed.c - writes a gzip file and computes the SHA-256 of its compressed bytes. */
#include "bin/rota/admin/packed.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { BLOCK = 1 << 18, GZIP = 15 + 16, LEVEL = 1 };

struct packed {
	FILE *file;
	const char *path;
	z_stream zip;
	EVP_MD_CTX *hash;
	unsigned char block[BLOCK], gathered[BLOCK]; /* compressed bytes; bytes gathered for compression */
	size_t held;
	long long bytes;
};

static bool packed_flush(struct packed *p, int how, struct err *e)
{
	p->zip.next_in = p->gathered;
	p->zip.avail_in = (unsigned)p->held;
	p->held = 0;
	do {
		size_t size;

		p->zip.next_out = p->block;
		p->zip.avail_out = BLOCK;
		deflate(&p->zip, how);
		size = BLOCK - p->zip.avail_out;
		p->bytes += (long long)size;
		EVP_DigestUpdate(p->hash, p->block, size);
		if (fwrite(p->block, 1, size, p->file) != size)
			return err_sys(e, "could not write \"%s\"", p->path);
	} while (p->zip.avail_out == 0);
	return true;
}

/* Compress only whole blocks, since rows are short: gather bytes until a block is full. */
bool packed_write(struct packed *p, const char *bytes, int size, struct err *e)
{
	for (size_t left = (size_t)size; left > 0;) {
		size_t part = left < BLOCK - p->held ? left : BLOCK - p->held;

		memcpy(p->gathered + p->held, bytes, part);
		p->held += part;
		bytes += part;
		left -= part;
		if (p->held == BLOCK && !packed_flush(p, Z_NO_FLUSH, e))
			return false;
	}
	return true;
}

struct packed *packed_open(const char *path, struct err *e)
{
	FILE *file = fopen(path, "wxe");
	struct packed *p;

	if (!file) {
		err_sys(e, "could not create \"%s\"", path);
		return NULL;
	}
	p = xcalloc(1, sizeof *p);
	p->path = path;
	p->file = file;
	p->hash = EVP_MD_CTX_new();
	if (!p->hash || EVP_DigestInit_ex(p->hash, EVP_sha256(), NULL) != 1 ||
	    deflateInit2(&p->zip, LEVEL, Z_DEFLATED, GZIP, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		die("out of memory");
	return p;
}

bool packed_close(struct packed *p, bool well, struct packed_sum *sum, struct err *e)
{
	unsigned char hash[EVP_MAX_MD_SIZE];

	well = well && packed_flush(p, Z_FINISH, e);
	deflateEnd(&p->zip);
	EVP_DigestFinal_ex(p->hash, hash, NULL);
	EVP_MD_CTX_free(p->hash);
	for (int i = 0; i < 32; i++)
		sprintf(sum->sha256 + 2 * i, "%02x", hash[i]);
	sum->bytes = p->bytes;
	if (well && (fflush(p->file) || fsync(fileno(p->file))))
		well = err_sys(e, "could not write \"%s\"", p->path);
	fclose(p->file);
	free(p);
	return well;
}
