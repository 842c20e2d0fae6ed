"""Numbers of accounts and people that their check digits give away: IBAN, identity numbers of China."""

from __future__ import annotations

import re
from collections.abc import Iterator

_LENGTHS = (  # of an IBAN, by country
    "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18 "
    "FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 "
    "LU20 LV21 LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 "
    "SD18 SE24 SI19 SK24 SM27 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 "
)
_COUNTRIES = {each[:2]: int(each[2:]) for each in _LENGTHS.split()}
_ENOUGH = re.compile(r"[0-9]{4}[ \u00a0-]?[0-9]{4}")
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}[0-9]{2}(?:[ \u00a0-]?[A-Za-z0-9]){11,29}")
_CITIZEN = re.compile(
    r"(?<![0-9])(?:1[1-5]|2[1-3]|3[1-7]|4[1-6]|5[0-4]|6[1-5]|71|8[1-3])[0-9]{4}[ -]?(?:18|19|20)[0-9]{2}"  # where, when
    r"(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])[ -]?[0-9]{3}[0-9Xx]"
    r"(?![0-9A-Za-z])"
)
_SEPARATORS = str.maketrans("", "", " \u00a0-")


def find(text: str) -> Iterator[tuple[int, int, str]]:
    """Spans `(start, end, kind)` of numbers whose check digits are right."""
    if not _ENOUGH.search(text):
        return
    for found in _IBAN.finditer(text):
        end = _iban_end(text, found)
        if end:
            yield found.start(), end, "iban"
    for found in _CITIZEN.finditer(text):
        if _is_citizen(found[0].translate(_SEPARATORS)):
            yield *found.span(), "identity-number"


def _iban_end(text: str, found: re.Match[str]) -> int:
    """Where the account number ends that begins there, for words may follow; 0 if it is none."""
    length = _COUNTRIES.get(found[0][:2].upper(), 0)
    places = [at for at in range(*found.span()) if text[at].isalnum()][:length]
    if not length or len(places) < length or re.match("[A-Za-z0-9]", text[places[-1] + 1 : places[-1] + 2]):
        return 0
    number = "".join(text[at] for at in places)
    return places[-1] + 1 if int("".join(str(int(c, 36)) for c in number[4:] + number[:4])) % 97 == 1 else 0


def _is_citizen(number: str) -> bool:
    total = sum(int(c) * pow(2, 17 - at, 11) for at, c in enumerate(number[:17]))
    return "10X98765432"[total % 11] == number[17].upper()
