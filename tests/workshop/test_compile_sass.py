import pytest

from workshop.kernels.compile_sass import ALWAYS, MEANINGS, parse

# The form in which cuobjdump 12 and 13 print resources and code.
TEXT = """
Resource usage:
 Common:
  GLOBAL:11 CONSTANT[4]:8
 Function fwd:
  REG:168 STACK:24 SHARED:1024 LOCAL:0 CONSTANT[0]:632 TEXTURE:0 SURFACE:0 SAMPLER:0

\tcode for sm_90a
\t\tFunction : fwd
\t.headerflags\t@"EF_CUDA_TEXMODE_UNIFIED EF_CUDA_64BIT_ADDRESS"
        /*0000*/                   LDC R1, c[0x0][0x28] ;          /* 0x00000a00ff017b82 */
                                                                   /* 0x000e620000000800 */
        /*0010*/               @P0 STL.64 [R1+0x8], R2 ;           /* 0x0000000000f17919 */
        /*0020*/              @!P1 LDL.LU R9, [R1] ;               /* 0x0000000000f17919 */
        /*0030*/             @!UP0 HGMMA.64x64x16.F32.BF16 R24, gdesc[UR4].tnspB, R24 ;  /* 0x0 */
        /*0040*/                   MUFU.EX2 R5, R5 ;               /* 0x0000000000f17919 */
        /*0050*/                   MUFU.RCP R5, R5 ;               /* 0x0000000000f17919 */
        /*0060*/                   LDGSTS.E.BYPASS.128 [R1], desc[UR4][R2.64] ;  /* 0x0 */
        /*0070*/                   LDG.E R1, [R2] ;                /* 0x0000000000f17919 */
        /*0080*/                   NOP ;                           /* 0x0000000000f17919 */
       /*10040*/                   EXIT ;                          /* 0x0000000000f17919 */
"""


def test_resources_and_counts_are_read():
    code = parse(TEXT, "fwd")
    assert (code.registers, code.stack_bytes) == (168, 24)
    assert code.instructions == {
        "HGMMA": 1,
        "MUFU.EX2": 1,
        "MUFU.RCP": 1,
        "LDL": 1,
        "STL": 1,
        "LDG": 1,
        "LDGSTS": 1,
    }
    # Padding is not code; the address of the last one has five digits.
    assert code.total == 9


def test_names_that_matter_are_listed_with_zero():
    text = "\n".join(line for line in TEXT.splitlines() if not any(n in line for n in ("STL", "LDL", "EX2")))
    assert {name: parse(text, "fwd").instructions[name] for name in ALWAYS} == dict.fromkeys(ALWAYS, 0)
    assert set(ALWAYS) <= set(MEANINGS)


@pytest.mark.parametrize(
    "text, function, message",
    [
        (TEXT, "other", "expected the resources of other in cuobjdump's output, got fwd"),
        ("", "fwd", "got none"),
        (TEXT.split("code for")[0], "fwd", "expected instructions"),
    ],
)
def test_output_of_another_form_is_an_error(text, function, message):
    with pytest.raises(RuntimeError, match=message):
        parse(text, function)
