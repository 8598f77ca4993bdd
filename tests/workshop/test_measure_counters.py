"""Reading ncu's table: a table in its raw CSV form, as the program prints it, with known numbers in it."""

import csv
import io
import itertools

import pytest

from workshop.kernels.counters import (
    LAUNCHES,
    NCU,
    CountersRefused,
    blocks_per_sm,
    command,
    figures,
    find_ncu,
    parse,
    range_name,
)

RANGE_COLUMN = "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
FRONT = ["ID", "Process ID", "Process Name", "Kernel Name", "Block Size", "Grid Size", RANGE_COLUMN]
UNIT = {
    "duration": "ns",
    "dram_read": "byte",
    "dram_write": "byte",
    "l2_read_sectors": "sector",
    "l2_write_sectors": "sector",
}


def table(rows, metrics=tuple(NCU)):
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    writer.writerow([*FRONT, *(NCU[name] for name in metrics)])
    writer.writerow([""] * len(FRONT) + [UNIT.get(name, "") for name in metrics])
    for number, (case, launch, kernel, values) in enumerate(rows):
        where = f'598  "<default domain>:{range_name(case, launch)}:none:none:none:none:none:none"'
        front = [number, 77, "python3", kernel, "(128, 1, 1)", "(64, 32, 1)", where]
        writer.writerow([*front, *(values.get(name, "0") for name in metrics)])
    return (
        "==PROF== Connected to process 77 (/usr/bin/python3)\n" + out.getvalue() + "==PROF== Disconnected\n"
    )


def test_a_table_is_read_kernel_by_kernel():
    text = table(
        [
            (3, 0, "void gemm<128, 64>(float, int)", {"dram_read": "100,663,296", "duration": "712,448"}),
            (3, 1, "softmax", {"dram_read": "7"}),
            (4, 0, "_attention", {"registers": "168"}),
        ]
    )
    first, second, third = parse(text)
    assert (first.case, first.launch, first.kernel) == (3, 0, "void gemm<128, 64>(float, int)")
    assert first.counters["dram_read"] == 100_663_296
    assert first.counters["duration"] == pytest.approx(712_448e-9)
    assert (second.case, second.launch, second.counters["dram_read"]) == (3, 1, 7)
    assert (third.case, third.counters["registers"]) == (4, 168)


# Two kernels of torch's FlashAttention-2 on an H200, as Nsight Compute 2025.3.1 printed them, most columns cut.
PRINTED = '''==WARNING== Note: Running with unmodified GPU clocks.
==PROF== Connected to process 598 (/usr/bin/python3.12)
==PROF== Disconnected from process 598
"ID","Process ID","thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg",\
"Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg","Kernel Name","Grid Size",\
"dram__bytes_read.sum","gpu__time_duration.sum","l1tex__m_xbar2l1tex_read_bytes.sum","launch__occupancy_limit_warps",\
"launch__registers_per_thread"
"","","","","","","byte","ns","byte","block","register/thread"
"0","598","598  ""<default domain>:workshop-case-0-0:none:none:none:none:none:none""","",\
"void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4>>(Flash_fwd_params)","(32, 1, 32)",\
"104,738,560","784,576","2,181,212,800","16","255"
"1","598","598  ""<default domain>:workshop-case-0-1:none:none:none:none:none:none""","",\
"void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4>>(Flash_fwd_params)","(32, 1, 32)",\
"104,745,472","785,312","2,181,198,336","16","255"
'''.replace("\\\n", "")


def test_a_table_as_ncu_printed_it():
    first, second = parse(PRINTED)
    assert (first.case, first.launch, second.launch) == (0, 0, 1)
    assert first.kernel.startswith("void flash_fwd_kernel")
    assert first.counters == pytest.approx(
        {
            "dram_read": 104_738_560,
            "duration": 784.576e-6,
            "l1_fill": 2_181_212_800,
            "blocks_by_warps": 16,
            "registers": 255,
        }
    )


def test_a_counter_that_the_chip_lacks_is_absent_not_zero():
    text = table([(0, 0, "k", {"l1_fill_bulk": "n/a", "dram_read": "5"})])
    (only,) = parse(text)
    assert "l1_fill_bulk" not in only.counters and only.counters["dram_read"] == 5


def test_figures_are_sums_over_the_kernels_of_a_call():
    def of(read, write, l2_read, l2_write, fill):
        return {
            "dram_read": str(read),
            "dram_write": str(write),
            "l2_read_sectors": str(l2_read),
            "l2_write_sectors": str(l2_write),
            "l1_fill": str(fill),
        }

    kernels = parse(table([(0, 0, "a", of(1, 2, 3, 4, 5)), (0, 0, "b", of(10, 20, 30, 40, 50))]))
    assert figures(kernels) == {"dram-read": 11, "dram-write": 22, "l2": 32 * 77, "l1-load": 55}


def test_no_permission_says_what_to_do():
    with pytest.raises(CountersRefused, match="NVreg_RestrictProfilingToAdminUsers"):
        parse("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n")


def test_no_table_passes_on_what_ncu_said():
    with pytest.raises(CountersRefused, match="Failed to initialize the profiler: LibraryNotLoaded"):
        parse("==ERROR== Failed to initialize the profiler: LibraryNotLoaded\n")


def test_a_backward_pass_on_another_thread_belongs_to_the_call_before_it():
    text = table(
        [(5, 0, "forward", {"dram_read": "1"}), (9, 9, "backward", {"dram_read": "2"}), (5, 1, "forward", {})]
    )
    outside = text.replace(f"<default domain>:{range_name(9, 9)}:none", "")
    assert [(k.case, k.launch, k.kernel) for k in parse(outside)] == [
        (5, 0, "forward"),
        (5, 0, "backward"),
        (5, 1, "forward"),
    ]


def test_rows_without_a_range_are_not_guessed_at():
    text = table([(0, 0, "k", {})]).replace(range_name(0, 0), "something else")
    with pytest.raises(CountersRefused, match="NVTX"):
        parse(text)


def test_without_ncu_the_sentence_names_it(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(CountersRefused, match="ncu"):
        find_ncu()


def test_the_clocks_are_left_alone_and_the_caches_flushed(tmp_path):
    line = command(tmp_path / "log", ["module", "--child", "counters"])
    pairs = list(itertools.pairwise(line))
    assert ("--clock-control", "none") in pairs and ("--cache-control", "all") in pairs
    assert ("-m", "module") in pairs and line[-2:] == ["--child", "counters"]
    assert set(NCU.values()) == set(line[line.index("--metrics") + 1].split(","))


def test_blocks_on_a_multiprocessor_are_the_scarcest():
    assert blocks_per_sm({"blocks_by_registers": 3, "blocks_by_shared": 2, "blocks_by_warps": 16}) == 2
    assert LAUNCHES >= 2
