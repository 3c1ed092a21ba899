/* Keys, signatures and encodings with libcrypto, for stacks with hand-written assembly. Argument: seconds. */
/* libs: -lcrypto */
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <time.h>

static void sign(EVP_PKEY *key)
{
	X509 *x = X509_new();
	unsigned char *der = NULL;
	X509_gmtime_adj(X509_getm_notBefore(x), 0);
	X509_gmtime_adj(X509_getm_notAfter(x), 3600);
	X509_set_pubkey(x, key);
	X509_sign(x, key, EVP_sha256());
	X509_verify(x, key);
	int n = i2d_X509(x, &der);
	const unsigned char *at = der;
	X509_free(d2i_X509(NULL, &at, n));
	OPENSSL_free(der);
	X509_free(x);
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 2);
	while (time(NULL) < end) {
		EVP_PKEY *key = EVP_EC_gen("P-256");
		sign(key);
		EVP_PKEY_free(key);
		key = EVP_RSA_gen(1024);
		sign(key);
		EVP_PKEY_free(key);
	}
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
