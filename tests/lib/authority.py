# SPDX-License-Identifier: Apache-2.0
"""Certificates made by openssl: a certificate authority, and servers' certificates signed by it."""

import ssl
import subprocess


def openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, timeout=60)


def new_key(path):
    return "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", path


class Authority:
    def __init__(self, folder):
        self.folder = folder
        self.key, self.certificate = folder / "ca.key", folder / "ca.pem"
        openssl("req", "-x509", *new_key(self.key), "-out", self.certificate, "-days", 30, "-subj", "/CN=test authority")

    def server(self, name="IP:127.0.0.1", days=30):
        """Key and certificate for a server of this name; with negative days it has expired."""
        stem = self.folder / f"{name.replace(':', '.')}.{days}"
        key, request, certificate = stem.with_suffix(".key"), stem.with_suffix(".csr"), stem.with_suffix(".pem")
        openssl("req", *new_key(key), "-out", request, "-subj", "/CN=test server", "-addext", f"subjectAltName={name}")
        openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-copy_extensions", "copy", "-days", days,
                "-out", certificate)
        return key, certificate


def context_of(key, certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context
