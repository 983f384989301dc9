#!/usr/bin/env python3
"""Makes src/tokens/data from the published vocabularies, and the expected counts of fixtures/tokens.

Run once per change of the vocabularies: token-tables.py FOLDER, where FOLDER holds cl100k_base.tiktoken and
o200k_base.tiktoken as OpenAI publishes them (checked by the digests that tiktoken itself checks). Needs Python with
tiktoken (0.14.0 was used), which is the reference: the classes of characters are asked of its regex engine too.
"""
import base64, hashlib, json, pathlib, struct, sys

import tiktoken
from tiktoken_ext import openai_public as public

DIGESTS = {
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}
ROOT = pathlib.Path(__file__).resolve().parent.parent
# Numbers as in src/tokens/classes.rs; what is in none is 0.
CLASSES = [
    (1, r"[\p{Lu}\p{Lt}]"), (2, r"\p{Ll}"), (3, r"[\p{Lm}\p{Lo}]"), (4, r"\p{M}"), (5, r"\p{N}"), (6, r"\s"),
]


def ranks(folder, name):
    raw = (pathlib.Path(folder) / f"{name}.tiktoken").read_bytes()
    assert hashlib.sha256(raw).hexdigest() == DIGESTS[name], name
    pairs = (line.split() for line in raw.splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in pairs}


def encoders(folder):
    found = {}
    for name in DIGESTS:
        table = ranks(folder, name)
        public.load_tiktoken_bpe = lambda *_args, **_more: table
        found[name] = tiktoken.Encoding(**getattr(public, name)())
    return found


def vocabularies(folder, data):
    for name in DIGESTS:
        table = ranks(folder, name)
        tokens = sorted(table, key=table.get)
        assert [table[token] for token in tokens] == list(range(len(tokens)))
        (data / f"{name}.bin").write_bytes(b"".join(bytes([len(token)]) + token for token in tokens))
        (data / f"{name}.slots").write_bytes(slots(tokens))


WORD, FACTOR, PLACE_BITS = (1 << 64) - 1, 0x9E3779B97F4A7C15, 21


def digest(token):
    """The hash of src/tokens/bpe.rs."""
    out = len(token)
    for at in range(0, len(token) // 8 * 8 + 1, 8):
        out = (out << 23 | out >> 41) & WORD
        out = (out ^ int.from_bytes(token[at : at + 8], "little")) * FACTOR & WORD
    return (out ^ out >> 32) * FACTOR & WORD


def slots(tokens):
    """A table of where the tokens are, a quarter free at least."""
    bits = (len(tokens) * 5 // 4).bit_length()
    table, place = [0] * (1 << bits), 0
    for token in tokens:
        value = digest(token)
        slot = value >> 64 - bits
        while table[slot]:
            slot = slot + 1 & len(table) - 1
        table[slot] = (value << PLACE_BITS | place + 1) & 0xFFFFFFFF
        place += 1 + len(token)
    return struct.pack(f"<{len(table)}I", *table)


def classes(data):
    every = "".join(chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000)
    single = {bytes([byte]): byte for byte in range(256)}
    of = bytearray(0x110000)
    for number, pattern in CLASSES:
        core = tiktoken.Encoding("classes", pat_str=pattern, mergeable_ranks=single, special_tokens={})
        for c in core.decode(core.encode_ordinary(every)):
            assert of[ord(c)] == 0
            of[ord(c)] = number
    out, last = bytearray(), None
    for c, number in enumerate(of):
        if number != last:
            out += struct.pack("<I", c << 8 | number)
            last = number
    (data / "classes.bin").write_bytes(out)


def expected(folder, fixtures):
    both = encoders(folder)
    lines = []
    for line in (fixtures / "texts.jsonl").read_text("utf-8").splitlines():
        text = json.loads(line)
        lines.append(f"{len(both['o200k_base'].encode_ordinary(text))} {len(both['cl100k_base'].encode_ordinary(text))}")
    (fixtures / "expected").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    data, fixtures = ROOT / "src/tokens/data", ROOT / "fixtures/tokens"
    data.mkdir(parents=True, exist_ok=True)
    vocabularies(sys.argv[1], data)
    classes(data)
    if fixtures.is_dir():
        expected(sys.argv[1], fixtures)
