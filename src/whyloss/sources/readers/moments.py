"""Dates and times of day, as logs write them, to seconds."""

import re
from datetime import UTC, datetime

# 2026-01-05 12:00:01,123 | 2026-01-05T12:00:01.5Z | 2026/01/05 12:00:01 | 01/05 12:00:01 (no year)
STAMP = re.compile(r"(?:(\d{4})[-/.](\d\d?)[-/.](\d\d?)|(\d\d?)[-/](\d\d?))[T ,_]+(\d\d?):(\d\d):(\d\d)(?:[.,](\d{1,9}))?\s?(Z|[+-]\d\d:?\d\d)?")


def seconds(text: str) -> float | None:
    """Seconds since 1970 of a date with a time of day at the start of `text`, as UTC where no zone is written; None if there is none."""
    text = text.strip()
    found = STAMP.match(text) or STAMP.match(f"{text} 00:00:00")  # a day without a time
    return None if found is None else of(found)


def of(found: re.Match) -> float | None:
    """Seconds of a match of STAMP; None where it is no date."""
    year, month, day, month2, day2, hour, minute, second, fraction, zone = found.groups()
    try:
        moment = datetime(int(year or 1970), int(month or month2), int(day or day2), int(hour), int(minute), int(second), tzinfo=UTC)
    except ValueError:
        return None
    shift = 0
    if zone and zone != "Z":
        shift = (1 if zone[0] == "+" else -1) * (int(zone[1:3]) * 3600 + int(zone[-2:]) * 60)
    return moment.timestamp() + float(f"0.{fraction or 0}") - shift
