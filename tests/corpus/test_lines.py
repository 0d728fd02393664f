import io
import os
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordclass.corpus.lines import decode_lines
from wordclass.errors import FormatError, InputError
from wordclass.storage import files


def lines_of(tmp_path, content, encoding="utf-8"):
    (tmp_path / "x.txt").write_bytes(content)
    return list(decode_lines(tmp_path / "x.txt", encoding))


@pytest.mark.parametrize(
    "encoding",
    [
        "utf-8",
        "utf-8-sig",
        "UTF8",
        "latin-1",
        "utf-16",
        "utf-16-le",
        "utf-32-be",
        "utf-7",
        "gb18030",
    ],
)
def test_lines_keep_their_ends_in_every_encoding(tmp_path, encoding):
    lines = ["é\r\n", "\n", "a\x0b\x0c\x1cb\x85\rc\n", "d"]
    assert lines_of(tmp_path, "".join(lines).encode(encoding), encoding) == lines


@pytest.mark.parametrize("encoding", ["iso2022_jp", "shift_jis", "euc_jp", "utf-16"])
def test_many_lines_of_japanese_are_decoded_across_the_chunks(tmp_path, encoding):
    lines = [f"日本語 {k}\n" for k in range(20_000)]
    assert lines_of(tmp_path, "".join(lines).encode(encoding), encoding) == lines


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16-le", "utf-16", "utf-32"])
def test_only_the_first_byte_order_mark_is_dropped(tmp_path, encoding):
    content = "\ufeffa\n\ufeffb\n".encode(encoding)
    codec_writes_mark = encoding in ("utf-8-sig", "utf-16", "utf-32")
    content = "a\n\ufeffb\n".encode(encoding) if codec_writes_mark else content
    assert lines_of(tmp_path, content, encoding) == ["a\n", "\ufeffb\n"]


def test_a_mark_alone_is_an_empty_file(tmp_path):
    assert lines_of(tmp_path, b"\xef\xbb\xbf") == []
    assert lines_of(tmp_path, b"") == []


@pytest.mark.parametrize("n_before", [0, 1, 50_000])
@pytest.mark.parametrize(
    ("encoding", "bad"),
    [
        ("utf-8", b"\xff\n"),
        ("utf-8", b"\xc3\n\xa9"),
        ("ascii", b"\x80"),
        ("utf-16-le", b"\x00\xdc\x0a\x00"),
        ("utf-16-le", b"\x00"),
        ("iso2022_jp", b"\xff\n"),
    ],
)
def test_a_byte_that_does_not_belong_is_an_error_with_its_line(tmp_path, encoding, bad, n_before):
    content = "ab\n".encode(encoding) * n_before + "cd".encode(encoding) + bad
    with pytest.raises(FormatError) as caught:
        lines_of(tmp_path, content, encoding)
    assert caught.value.line == n_before + 1
    assert "--encoding" in caught.value.reason


@pytest.mark.parametrize(
    ("encoding", "bad"), [("iso2022_jp", b"\x1b$B\x21\xff"), ("hz", b"~{<:\xff")]
)
@pytest.mark.parametrize("chunk", [1, 2, 7, 8, 9, 100])
def test_the_line_is_right_where_the_bad_byte_is_among_shifted_characters(
    tmp_path, encoding, bad, chunk, monkeypatch
):
    monkeypatch.setattr("wordclass.corpus.lines._CHUNK_BYTES", chunk)
    with pytest.raises(FormatError, match="line 4"):
        lines_of(tmp_path, b"!\n" * 3 + bad, encoding)


@pytest.mark.parametrize("encoding", ["klingon", "hex", "rot13", "", "a\0b", "ü"])
def test_an_encoding_python_does_not_know_is_an_input_error(tmp_path, encoding):
    with pytest.raises(InputError, match="unknown encoding") as caught:
        lines_of(tmp_path, b"x", encoding)
    assert not isinstance(caught.value, FormatError)


@settings(deadline=None)
@given(
    content=st.text(max_size=30).map(lambda text: text.lstrip("\ufeff")), chunk=st.integers(1, 9)
)
@pytest.mark.parametrize("encoding", ["utf-16", "utf-32-le", "utf-7"])
def test_where_the_chunks_end_does_not_matter(encoding, content, chunk):
    class Drops(io.BytesIO):
        def read1(self, _=-1):
            return super().read1(chunk)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            files, "open_for_reading", lambda _, **_options: Drops(content.encode(encoding))
        )
        lines = list(decode_lines("x", encoding))
    assert lines == [f"{line}\n" for line in content.split("\n")[:-1]] + [
        content.split("\n")[-1]
    ] * (content[-1:] not in ("", "\n"))


def test_a_bad_byte_from_a_pipe_is_told_without_waiting_for_more(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(b"a\n\xff\n",))
    writer.start()
    with pytest.raises(FormatError, match="byte 0xff is not valid") as caught:
        list(decode_lines(tmp_path / "pipe", "utf-8"))
    writer.join()
    assert caught.value.line == 2


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_file_without_the_mark_that_its_encoding_needs_is_an_error(tmp_path, encoding):
    with pytest.raises(FormatError, match="--encoding") as caught:
        lines_of(tmp_path, b"text,label\nx,a\n", encoding)
    assert caught.value.line == 1


def test_endless_white_space_is_refused(tmp_path):
    assert len(lines_of(tmp_path, b"\n" * 1_000_000)) == 1_000_000
    path = tmp_path / "x.txt.gz"
    with files.open_for_writing(path) as file:
        file.write(b"a\n" + b" \n" * 1_000_000)
    with pytest.raises(FormatError, match="more than 1,048,576 blanks in a row"):
        list(decode_lines(path, "utf-8"))


def test_a_pipe_that_nobody_writes_to_is_empty(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert list(decode_lines(tmp_path / "pipe", "utf-8")) == []
