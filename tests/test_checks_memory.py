"""The memory that is free for a process, on a machine or in a container."""

import pytest

from wordclass import options

NEW = ("memory.max", "memory.current", "inactive_file")
OLD = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


@pytest.fixture
def system(tmp_path):
    """Make control groups: `system("0::/a", {"a": (NEW, limit, usage, cached)})`."""

    def make(groups, folders):
        (tmp_path / "cgroup").write_text(groups)
        for name, (files, limit, usage, cached) in folders.items():
            folder = tmp_path / "fs" / name
            folder.mkdir(parents=True, exist_ok=True)
            (folder / files[0]).write_text(f"{limit}\n")
            (folder / files[1]).write_text(f"{usage}\n")
            (folder / "memory.stat").write_text(f"anon 7\n{files[2]} {cached}\n")
        return sorted(options.control_group_bytes(tmp_path / "cgroup", tmp_path / "fs"))

    return make


@pytest.mark.parametrize(("files", "line", "top"), [(NEW, "0::", ""), (OLD, "4:memory:", "memory")])
def test_a_group_has_its_limit_minus_the_used_and_not_just_cached_memory(system, files, line, top):
    assert system(f"{line}/", {top: (files, 1000, 500, 200)}) == [700]


def test_a_group_is_limited_by_all_groups_above_it(system):
    folders = {"a/b": (NEW, 900, 0, 0), "a": (NEW, 1000, 600, 0), "c": (NEW, 1, 0, 0)}
    assert system("0::/a/b\n", folders) == [400, 900]


def test_a_group_without_a_limit_or_a_visible_path_does_not_limit(system):
    # in a container, /proc contains a path of the machine, which is not mounted there
    assert system("0::/far/away\n3:cpu:/x\n", {"": (NEW, "max", 5, 0)}) == []
    assert system("0::/far/away\n3:cpu:/x\n", {"": (NEW, 50, 5, 0)}) == [45]


def test_without_groups_there_are_no_limits(tmp_path):
    assert list(options.control_group_bytes(tmp_path / "none", tmp_path)) == []


def test_the_tightest_limit_counts(monkeypatch):
    monkeypatch.setattr(options, "control_group_bytes", lambda: iter([5_000, 3_000]))
    assert options.free_bytes() == 3_000
    monkeypatch.setattr(options, "control_group_bytes", lambda: iter([-10]))
    assert options.free_bytes() == 0


def test_the_memory_of_this_machine_is_known():
    free = options.free_bytes()
    assert free is None or free > 1_000_000


def test_a_limit_of_the_process_as_ulimit_sets_it_counts():
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    try:
        resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), before[1]))
        assert options.free_bytes() <= 64 << 20
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def test_a_table_that_is_too_large_is_refused_with_a_remedy_that_fits(monkeypatch):
    monkeypatch.setattr(options, "free_bytes", lambda: 250)
    options.check_table("two rows", [3, 9], 100)
    expected = (
        r"three rows need 0\.0 MB of memory; 0\.0 MB are free; min_docs=4 would fit: at most 2"
    )
    with pytest.raises(options.InputError, match=expected):
        options.check_table("three rows", [3, 9, 5], 100)


def test_memory_beyond_the_rows_counts(monkeypatch):
    monkeypatch.setattr(options, "free_bytes", lambda: 250)
    options.check_table("two rows", [3, 9], 100, 50)
    with pytest.raises(options.InputError, match=r"min_docs=6 would fit: at most 1 terms"):
        options.check_table("three rows", [3, 9, 5], 100, 100)
    with pytest.raises(options.InputError, match="no min_docs would help: use fewer documents"):
        options.check_table("two rows", [3, 9], 100, 200)
