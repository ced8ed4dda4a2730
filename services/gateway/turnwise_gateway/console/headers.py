"""The headers of the console's files: a browser runs only scripts of this server, and shows its pages in no frame."""

from __future__ import annotations


def content_security_policy(*scripts: str) -> str:
    """Return the policy of a page: scripts of this server, and those in the page that `scripts` allows, each as
    `'sha256-…'`. Preact and uPlot set styles through the CSSOM, which `style-src` does not forbid.
    """
    return "; ".join(
        (
            "default-src 'none'",
            " ".join(("script-src 'self'", *scripts)),
            "style-src 'self'",
            "img-src 'self' data:",
            "connect-src 'self'",
            "font-src 'self'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        )
    )


SECURITY_HEADERS = {
    "Content-Security-Policy": content_security_policy(),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
# The address of such a file holds the digest of all of them, so it never stands for another content.
FOR_EVER = "public, max-age=31536000, immutable"
# Asked for each time; with its ETag the answer is 304 while nothing has changed.
ASK_AGAIN = "no-cache"
