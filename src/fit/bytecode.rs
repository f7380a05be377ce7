//! Where a method's bytecode branches, calls and tests types (JVM
//! specification, chapter 6).

use std::collections::BTreeSet;

/// Positions in the bytecode of a method.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CodeSites {
    /// Where instructions begin.
    pub instructions: BTreeSet<u16>,
    /// Instructions that branch on a condition, and switches.
    pub branches: BTreeSet<u16>,
    /// Calls.
    pub calls: BTreeSet<u16>,
    /// Instructions that test the type of a value: `instanceof`, `checkcast`,
    /// and storing into an array of objects.
    pub type_tests: BTreeSet<u16>,
}

const AASTORE: u8 = 0x53;
const IINC: u8 = 0x84;
const IFEQ: u8 = 0x99;
const IF_ACMPNE: u8 = 0xa6;
const RET: u8 = 0xa9;
const TABLESWITCH: u8 = 0xaa;
const LOOKUPSWITCH: u8 = 0xab;
const INVOKEVIRTUAL: u8 = 0xb6;
const INVOKEDYNAMIC: u8 = 0xba;
const CHECKCAST: u8 = 0xc0;
const INSTANCEOF: u8 = 0xc1;
const WIDE: u8 = 0xc4;
const IFNULL: u8 = 0xc6;
const IFNONNULL: u8 = 0xc7;

impl CodeSites {
    /// Walks the instructions of a method; `None` where they are damaged.
    pub fn of(code: &[u8]) -> Option<Self> {
        let mut sites = Self::default();
        let mut at = 0;
        while at < code.len() {
            let bci = u16::try_from(at).ok()?;
            let opcode = code[at];
            sites.instructions.insert(bci);
            match opcode {
                IFEQ..=IF_ACMPNE | TABLESWITCH | LOOKUPSWITCH | IFNULL | IFNONNULL => {
                    sites.branches.insert(bci);
                }
                INVOKEVIRTUAL..=INVOKEDYNAMIC => {
                    sites.calls.insert(bci);
                }
                AASTORE | CHECKCAST | INSTANCEOF => {
                    sites.type_tests.insert(bci);
                }
                _ => {}
            }
            let len = instruction_len(code, at)?;
            at = at.checked_add(len)?;
        }
        (at == code.len()).then_some(sites)
    }
}

/// Bytes of the instruction at a position.
fn instruction_len(code: &[u8], at: usize) -> Option<usize> {
    let opcode = code[at];
    Some(match opcode {
        0x00..=0x0f | 0x1a..=0x35 | 0x3b..=0x83 | 0x85..=0x98 | 0xac..=0xb1 | 0xbe | 0xbf | 0xc2 | 0xc3 => 1,
        0x10 | 0x12 | 0x15..=0x19 | 0x36..=0x3a | RET | 0xbc => 2,
        0x11 | 0x13 | 0x14 | IINC | IFEQ..=0xa8 | 0xb2..=0xb8 | 0xbb | 0xbd | CHECKCAST | INSTANCEOF => 3,
        IFNULL | IFNONNULL => 3,
        0xc5 => 4,
        0xb9 | INVOKEDYNAMIC | 0xc8 | 0xc9 => 5,
        WIDE => {
            if *code.get(at + 1)? == IINC {
                6
            } else {
                4
            }
        }
        TABLESWITCH => {
            let (start, number) = operands(code, at);
            let (low, high) = (number(1)?, number(2)?);
            let targets = usize::try_from(i64::from(high) - i64::from(low) + 1).ok()?;
            start + 12 + targets.checked_mul(4)? - at
        }
        LOOKUPSWITCH => {
            let (start, number) = operands(code, at);
            let pairs = usize::try_from(number(1)?).ok()?;
            start + 8 + pairs.checked_mul(8)? - at
        }
        _ => return None,
    })
}

/// Where the operands of a switch begin, at a multiple of 4, and the numbers there.
fn operands(code: &[u8], at: usize) -> (usize, impl Fn(usize) -> Option<i32> + '_) {
    let start = (at + 4) & !3;
    (start, move |index| {
        let bytes = code.get(start + 4 * index..)?.first_chunk::<4>()?;
        Some(i32::from_be_bytes(*bytes))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_after_switches_of_any_length_are_found() {
        // iload_0; tableswitch 1..2; aload_0; invokevirtual; instanceof; ifeq; lookupswitch of one; ireturn
        let mut code = vec![0x1a, TABLESWITCH, 0, 0];
        for word in [20, 1, 2, 20, 20] {
            code.extend(i32::to_be_bytes(word));
        }
        code.extend([0x2a, INVOKEVIRTUAL, 0, 1, INSTANCEOF, 0, 2, IFEQ, 0, 3]);
        let lookup = code.len();
        code.push(LOOKUPSWITCH);
        code.resize(code.len().next_multiple_of(4), 0);
        for word in [9, 1, 7, 9] {
            code.extend(i32::to_be_bytes(word));
        }
        code.push(0xac);
        let sites = CodeSites::of(&code).unwrap();
        assert_eq!(sites.branches, BTreeSet::from([1, 31, lookup as u16]));
        assert_eq!((sites.calls, sites.type_tests), (BTreeSet::from([25]), BTreeSet::from([28])));
        assert_eq!(sites.instructions.last(), Some(&(code.len() as u16 - 1)));
    }

    #[test]
    fn damaged_code_has_no_sites() {
        for code in [
            &[0xff][..],
            &[TABLESWITCH, 0, 0, 0],
            &[0x11, 0],
            &[WIDE],
            &[LOOKUPSWITCH, 0, 0, 0, 0, 0, 0, 0, 0xff, 0, 0, 0],
        ] {
            assert_eq!(CodeSites::of(code), None, "{code:x?}");
        }
        // So many targets that their bytes do not fit.
        let huge = [&[TABLESWITCH, 0, 0, 0][..], &[0; 4], &i32::MIN.to_be_bytes(), &i32::MAX.to_be_bytes()].concat();
        assert_eq!(CodeSites::of(&huge), None);
    }
}
