"""Addresses of servers, as people write them into config.toml and the environment."""

from __future__ import annotations

from wakebook.errors import ConfigError


def host(base: str, setting: str) -> str:
    """Host and port of a base URL. Raises ConfigError for what is none, or holds a secret.

    `setting`: where the address was written, for the message.
    """
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(base)
        sound = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1)
    except ValueError:
        sound = False
    if not sound or not base.isascii() or set(base) & set("@?# \t\r\n"):
        raise ConfigError(
            f"{setting} is an address like https://example.org/v1, without a password, "
            "'?' or '#'. A key belongs into key_variable or key_file."
        )
    return parts.netloc


def ollama(value: str) -> str:
    """OLLAMA_HOST as Ollama reads it: host, host:port, :port or a whole address."""
    scheme, _, rest = value.strip().rpartition("://")
    rest = rest.rstrip("/")
    name, colon, port = rest.rpartition(":") if ":" in rest.rpartition("]")[2] else (rest, "", "")
    name = "127.0.0.1" if name in ("", "0.0.0.0") else name  # noqa: S104
    default = {"http": "80", "https": "443"}.get(scheme, "11434")
    return f"{scheme or 'http'}://{name}:{port if colon else default}"
