"""Certificates of the tests, made by openssl as docs/security.md makes them; and tokens."""

import hashlib
import subprocess

KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


def openssl(*arguments, **options):
    return subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, **options)


class Authority:
    """Makes and signs certificates in a folder: NAME.crt and NAME.key."""

    def __init__(self, folder, name="ca"):
        self.folder = folder
        self.certificate = folder / f"{name}.crt"
        self.key = folder / f"{name}.key"
        openssl("req", "-x509", *KEY, "-days", 2, "-subj", f"/CN={name}", "-keyout", self.key, "-out", self.certificate)

    def issue(self, name, days=2, key=KEY, start=None):
        """(certificate, key) for localhost."""
        request, certificate, private = (self.folder / f"{name}.{end}" for end in ("csr", "crt", "key"))
        openssl("req", *key, "-subj", f"/CN={name}", "-keyout", private, "-out", request)
        extensions = self.folder / f"{name}.ext"
        extensions.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        period = ["-days", days]
        if start is not None:  # of one that ended long ago
            database = self.folder / f"{name}.index"
            database.write_text("")
            (self.folder / f"{name}.cnf").write_text(
                f"[ca]\ndefault_ca=d\n[d]\ndatabase={database}\nrand_serial=yes\nnew_certs_dir={self.folder}\n"
                f"default_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n"
            )
            openssl(
                "ca", "-batch", "-config", self.folder / f"{name}.cnf", "-cert", self.certificate, "-keyfile", self.key,
                "-in", request, "-out", certificate, "-notext", "-startdate", start, "-enddate", "20200102000000Z",
                "-extfile", extensions,
            )
            return certificate, private
        openssl(
            "x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial", *period,
            "-extfile", extensions, "-out", certificate,
        )
        return certificate, private


def token_line(roles, name, token):
    return f"{roles} {name} {hashlib.sha256(token.encode()).hexdigest()}\n"
