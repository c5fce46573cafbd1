"""Log records as JSON, one a line, with the id of the request that they belong to."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

import orjson

from server.telemetry.request_id import current_request_id


class RequestIdFilter(logging.Filter):
    """Stamps records in the thread or task that logs. Put it on a handler."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = current_request_id.get()
        return True


class JsonFormatter(logging.Formatter):
    """One object a line: time, level, logger, message, and where there are any request_id and traceback."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if (request_id := getattr(record, "request_id", None)) is not None:
            line["request_id"] = request_id
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        # Texts of others may hold halves of characters, which JSON cannot.
        return orjson.dumps({key: value.encode(errors="replace").decode() for key, value in line.items()}).decode()
