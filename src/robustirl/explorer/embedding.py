"""Put data into a page so that no browser can mistake it for markup."""

import json
from typing import Any


def embedded_json(data: dict[str, Any]) -> str:
    r"""Return JSON that cannot end the script it stands in.

    Example:
        >>> print(embedded_json({"name": "</script>"}))
        {"name":"\u003c/script>"}
    """
    text = json.dumps(data, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
