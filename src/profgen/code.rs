//! Machine code: the positions and lengths of instructions, and their control transfers.

use crate::error::{Error, ErrorKind, Result};
use iced_x86::{Code as Opcode, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind};
use object::Architecture;
use std::borrow::Cow;

/// The effect of an instruction on control flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Transfer {
    /// It continues with the next instruction.
    None = 0,
    Call = 1,
    Return = 2,
    /// An unconditional jump to an address in the instruction.
    Jump = 3,
    /// A conditional jump.
    Branch = 4,
    /// A jump to a computed address.
    IndirectJump = 5,
}

/// The code of a program, by link-time address.
///
/// One byte per byte of code: for the first byte of an instruction its length (low four bits) and [`Transfer`] (high
/// four bits), for other bytes 0.
#[derive(Debug)]
pub(super) struct Code<'d> {
    parts: Vec<Part<'d>>,
    /// Returns the target of a control transfer that has it in its bytes.
    target: fn(&[u8], u64) -> Option<u64>,
    /// Instructions after which code is only reached by a jump or a call, ascending.
    stops: Vec<u64>,
    /// The number of byte ranges that are not instructions.
    pub(super) undecodable: u64,
}

#[derive(Debug)]
struct Part<'d> {
    start: u64,
    marks: Vec<u8>,
    bytes: Cow<'d, [u8]>,
}

impl Part<'_> {
    fn end(&self) -> u64 {
        self.start + self.marks.len() as u64
    }
}

impl<'d> Code<'d> {
    /// Decodes sections, each with its address, its bytes and the addresses of its symbols. Decoding starts at the
    /// first symbol and restarts at each one; bytes before the first symbol are not code.
    ///
    /// # Errors
    ///
    /// Unsupported for a processor other than x86 and AArch64.
    pub(super) fn decode(architecture: Architecture, sections: Vec<TextSection<'d>>) -> Result<Self> {
        type Decode = fn(&[u8], u64) -> Step;
        type Target = fn(&[u8], u64) -> Option<u64>;
        let (decode, target): (Decode, Target) = match architecture {
            Architecture::X86_64 | Architecture::X86_64_X32 => {
                (|bytes, at| x86(64, bytes, at), |bytes, at| x86_target(64, bytes, at))
            }
            Architecture::I386 => (|bytes, at| x86(32, bytes, at), |bytes, at| x86_target(32, bytes, at)),
            Architecture::Aarch64 => (|bytes, _| aarch64(bytes), aarch64_target),
            other => {
                let what = format!("machine code of {other:?}");
                return Err(Error::new(ErrorKind::Unsupported { what }));
            }
        };
        let mut code = Self { parts: Vec::new(), target, stops: Vec::new(), undecodable: 0 };
        for section in sections {
            code.decode_section(section, decode);
        }
        code.parts.sort_by_key(|part| part.start);
        code.stops.sort_unstable();
        Ok(code)
    }

    fn decode_section(&mut self, section: TextSection<'d>, decode: fn(&[u8], u64) -> Step) {
        let TextSection { address: start, bytes, mut symbols } = section;
        let len = bytes.len() as u64;
        if start.checked_add(len).is_none() {
            return;
        }
        symbols.retain(|symbol| (start..start + len).contains(symbol));
        symbols.sort_unstable();
        symbols.dedup();
        let mut marks = vec![0; bytes.len()];
        for (index, symbol) in symbols.iter().enumerate() {
            let next = symbols.get(index + 1).map_or(len, |next| next - start);
            let mut at = symbol - start;
            let mut is_undecodable = false;
            while at < next {
                let step = decode(&bytes[at as usize..], start + at);
                match step.transfer {
                    Some(transfer) => {
                        marks[at as usize] = step.len | (transfer as u8) << 4;
                        if matches!(transfer, Transfer::Call | Transfer::Return | Transfer::Jump) {
                            self.stops.push(start + at);
                        }
                    }
                    None => self.undecodable += u64::from(!is_undecodable),
                }
                is_undecodable = step.transfer.is_none();
                at += u64::from(step.len.max(1));
            }
        }
        self.parts.push(Part { start, marks, bytes });
    }

    /// The part that contains an address, and the position in it.
    fn part_at(&self, address: u64) -> Option<(&Part<'d>, usize)> {
        let after = self.parts.partition_point(|part| part.start <= address);
        let part = &self.parts[after.checked_sub(1)?];
        let at = usize::try_from(address - part.start).ok()?;
        (at < part.marks.len()).then_some((part, at))
    }

    fn mark(&self, address: u64) -> u8 {
        self.part_at(address).map_or(0, |(part, at)| part.marks[at])
    }

    /// Returns true if an address is in a section of code.
    pub(super) fn contains(&self, address: u64) -> bool {
        self.part_at(address).is_some()
    }

    /// Returns true if a section of code has some of the `len` bytes from an address on. What a process has before the
    /// program can have a link-time address near the end of the address space.
    pub(super) fn overlaps(&self, start: u64, len: u64) -> bool {
        let overlaps = |part: &Part<'_>| {
            part.start.wrapping_sub(start) < len || start.wrapping_sub(part.start) < part.marks.len() as u64
        };
        self.parts.iter().any(overlaps)
    }

    /// The target of the call or jump at an address, if the instruction has it.
    pub(super) fn direct_target(&self, address: u64) -> Option<u64> {
        let (part, at) = self.part_at(address).filter(|(part, at)| part.marks[*at] >> 4 != 0)?;
        (self.target)(&part.bytes[at..], address)
    }

    /// Returns true if a jump starts at an address: a control transfer that is not a call and not a return.
    pub(super) fn is_jump(&self, address: u64) -> bool {
        let transfer = self.transfer(address);
        matches!(transfer, Some(Transfer::Jump | Transfer::Branch | Transfer::IndirectJump))
    }

    /// Returns true if an instruction starts at an address.
    pub(super) fn is_instruction(&self, address: u64) -> bool {
        self.mark(address) != 0
    }

    /// Returns true if an instruction that can transfer control starts at an address.
    pub(super) fn is_transfer(&self, address: u64) -> bool {
        self.mark(address) >> 4 != 0
    }

    /// The effect of the instruction that starts at an address.
    pub(super) fn transfer(&self, address: u64) -> Option<Transfer> {
        let mark = self.mark(address);
        let of_mark = match mark >> 4 {
            0 => Transfer::None,
            1 => Transfer::Call,
            2 => Transfer::Return,
            3 => Transfer::Jump,
            4 => Transfer::Branch,
            _ => Transfer::IndirectJump,
        };
        (mark != 0).then_some(of_mark)
    }

    /// Returns true if a call starts at an address.
    pub(super) fn is_call(&self, address: u64) -> bool {
        self.mark(address) >> 4 == Transfer::Call as u8
    }

    /// Returns true if a return starts at an address.
    pub(super) fn is_return(&self, address: u64) -> bool {
        self.mark(address) >> 4 == Transfer::Return as u8
    }

    /// Returns true for a return and for the instruction before one.
    pub(super) fn is_in_epilog(&self, address: u64) -> bool {
        let next = self.instructions(address.saturating_add(1), u64::MAX).next();
        self.is_return(address) || next.is_some_and(|(next, _)| self.is_return(next))
    }

    /// The last instruction that starts before an address.
    pub(super) fn previous(&self, address: u64) -> Option<u64> {
        let after = self.parts.partition_point(|part| part.start < address);
        self.parts[..after].iter().rev().find_map(|part| {
            let end = usize::try_from(address - part.start).unwrap_or(usize::MAX).min(part.marks.len());
            part.marks[..end].iter().rposition(|mark| *mark != 0).map(|at| part.start + at as u64)
        })
    }

    /// Returns the address and length of the instructions from `begin` to `end`, both included.
    pub(super) fn instructions(&self, begin: u64, end: u64) -> impl Iterator<Item = (u64, u8)> {
        let first = self.parts.partition_point(|part| part.end() <= begin);
        let parts = self.parts[first..].iter().take_while(move |part| part.start <= end);
        parts.flat_map(move |part| {
            let from = begin.saturating_sub(part.start) as usize;
            let to = (end - part.start).saturating_add(1).min(part.marks.len() as u64) as usize;
            let marks = part.marks[from.min(to)..to].iter().enumerate().filter(|(_, mark)| **mark != 0);
            marks.map(move |(at, mark)| (part.start + (from + at) as u64, mark & 0xF))
        })
    }

    /// Returns true if code runs from `begin` to `end` without an unconditional control transfer.
    pub(super) fn falls_through(&self, begin: u64, end: u64) -> bool {
        let stop = self.stops.partition_point(|stop| *stop < begin);
        begin <= end && self.stops.get(stop).is_none_or(|stop| *stop >= end)
    }
}

/// A section of code.
#[derive(Debug)]
pub(super) struct TextSection<'d> {
    pub(super) address: u64,
    /// In the file unless they were compressed.
    pub(super) bytes: Cow<'d, [u8]>,
    /// Addresses of the symbols of the section, in any order.
    pub(super) symbols: Vec<u64>,
}

/// One step of decoding.
struct Step {
    /// The length of the instruction, or of the bytes that are not one.
    len: u8,
    /// `None` for bytes that are not an instruction.
    transfer: Option<Transfer>,
}

fn x86_decoder(bits: u32, bytes: &[u8], address: u64) -> Decoder<'_> {
    const LONGEST: usize = 15;
    Decoder::with_ip(bits, &bytes[..bytes.len().min(LONGEST)], address, DecoderOptions::NONE)
}

/// Returns true for the prefixes that LLVM decodes as an instruction of their own: `lock`, and `xacquire` and `xrelease`.
fn is_own_instruction(bytes: &[u8]) -> bool {
    let next = bytes.get(1).copied();
    match bytes.first() {
        Some(0xF0) => true,
        Some(0xF2) => matches!(next, Some(0xF0 | 0x86 | 0x87 | 0x90..=0x97)),
        // `F3 90` is `pause`.
        Some(0xF3) => matches!(next, Some(0xF0 | 0x86..=0x89 | 0x91..=0x97 | 0xC6 | 0xC7)),
        _ => false,
    }
}

fn x86(bits: u32, bytes: &[u8], address: u64) -> Step {
    if is_own_instruction(bytes) {
        return Step { len: 1, transfer: Some(Transfer::None) };
    }
    let mut decoder = x86_decoder(bits, bytes, address);
    let instruction = decoder.decode();
    let len = u8::try_from(decoder.position()).unwrap_or(1);
    Step { len, transfer: (!instruction.is_invalid()).then(|| x86_transfer(&instruction)) }
}

fn x86_target(bits: u32, bytes: &[u8], address: u64) -> Option<u64> {
    let instruction = x86_decoder(bits, bytes, address).decode();
    let is_near = (0..instruction.op_count()).any(|operand| {
        matches!(instruction.op_kind(operand), OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64)
    });
    is_near.then(|| instruction.near_branch_target())
}

/// System calls and traps return to the next instruction or never.
fn x86_transfer(instruction: &Instruction) -> Transfer {
    let mnemonic = instruction.mnemonic();
    match instruction.flow_control() {
        FlowControl::Call | FlowControl::IndirectCall if mnemonic == Mnemonic::Call => Transfer::Call,
        FlowControl::Return if is_x86_return(mnemonic) => Transfer::Return,
        FlowControl::UnconditionalBranch => Transfer::Jump,
        FlowControl::IndirectBranch => Transfer::IndirectJump,
        FlowControl::ConditionalBranch => Transfer::Branch,
        FlowControl::XbeginXabortXend if matches!(instruction.code(), Opcode::Xbegin_rel16 | Opcode::Xbegin_rel32) => {
            Transfer::Branch
        }
        _ => Transfer::None,
    }
}

fn is_x86_return(mnemonic: Mnemonic) -> bool {
    matches!(mnemonic, Mnemonic::Ret | Mnemonic::Retf | Mnemonic::Iret | Mnemonic::Iretd | Mnemonic::Iretq)
}

/// Decodes only control transfers. Every other word counts as an instruction.
fn aarch64(bytes: &[u8]) -> Step {
    let Some(word) = bytes.first_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes)) else {
        return Step { len: u8::try_from(bytes.len()).unwrap_or(1), transfer: None };
    };
    let transfer = match word {
        _ if word & 0xFC00_0000 == 0x9400_0000 => Transfer::Call,
        _ if word & 0xFFFF_FC1F == 0xD63F_0000 => Transfer::Call,
        _ if word & 0xFFFF_FC1F == 0xD65F_0000 => Transfer::Return,
        0xD69F_03E0 => Transfer::Return,
        _ if word & 0xFC00_0000 == 0x1400_0000 => Transfer::Jump,
        // b.cond; cbz, cbnz, tbz and tbnz
        _ if word & 0xFF00_0010 == 0x5400_0000 => Transfer::Branch,
        _ if word & 0x7C00_0000 == 0x3400_0000 => Transfer::Branch,
        _ if word & 0xFFFF_FC1F == 0xD61F_0000 => Transfer::IndirectJump,
        _ => Transfer::None,
    };
    Step { len: 4, transfer: Some(transfer) }
}

fn aarch64_target(bytes: &[u8], address: u64) -> Option<u64> {
    let word = u32::from_le_bytes(*bytes.first_chunk::<4>()?);
    // The position and width of the distance, in words.
    let (shift, bits) = match word {
        // b and bl; b.cond, cbz and cbnz; tbz and tbnz
        _ if word & 0x7C00_0000 == 0x1400_0000 => (0, 26),
        _ if word & 0xFF00_0010 == 0x5400_0000 || word & 0x7E00_0000 == 0x3400_0000 => (5, 19),
        _ if word & 0x7E00_0000 == 0x3600_0000 => (5, 14),
        _ => return None,
    };
    let distance = ((word << (32 - bits - shift)) as i32) >> (32 - bits);
    Some(address.wrapping_add_signed(i64::from(distance) * 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code<'d>(architecture: Architecture, bytes: &'d [u8], symbols: &[u64]) -> Code<'d> {
        let section = TextSection { address: 0x1000, bytes: bytes.into(), symbols: symbols.to_vec() };
        Code::decode(architecture, vec![section]).unwrap()
    }

    /// nop; call +0; je +0; jmp *%rax; jmp +0; ret; syscall
    const X86: &[u8] = &[0x90, 0xE8, 0, 0, 0, 0, 0x74, 0, 0xFF, 0xE0, 0xEB, 0, 0xC3, 0x0F, 0x05];

    #[test]
    fn x86_instructions_have_lengths_and_transfers() {
        let code = code(Architecture::X86_64, X86, &[0x1000]);
        let found: Vec<(u64, u8)> = code.instructions(0x1000, 0x2000).collect();
        let expected = [(0x1000, 1), (0x1001, 5), (0x1006, 2), (0x1008, 2), (0x100A, 2), (0x100C, 1), (0x100D, 2)];
        assert_eq!(found, expected);
        assert_eq!(code.stops, [0x1001, 0x100A, 0x100C]);
        let transfers: Vec<u64> = (0x1000..0x1010).filter(|at| code.is_transfer(*at)).collect();
        assert_eq!(transfers, [0x1001, 0x1006, 0x1008, 0x100A, 0x100C]);
        assert!(!code.is_instruction(0x1002));
    }

    #[test]
    fn x86_prefixes_for_locks_are_instructions() {
        // Bytes, and where llvm-mc starts instructions.
        let cases: [(&[u8], &[u64]); 9] = [
            (&[0xF0, 0x0F, 0xB1, 0x0A], &[0, 1]),
            (&[0xF2, 0xF0, 0x0F, 0xB1, 0x0A], &[0, 1, 2]),
            (&[0xF3, 0x87, 0x0A], &[0, 1]),
            (&[0xF3, 0x89, 0x0A], &[0, 1]),
            (&[0xF2, 0x89, 0x0A], &[0]),
            (&[0xF2, 0x90], &[0, 1]),
            (&[0xF3, 0x90], &[0]),
            (&[0xF3, 0xA4], &[0]),
            (&[0x66, 0xF0, 0x0F, 0xB1, 0x0A], &[0]),
        ];
        for (bytes, expected) in cases {
            let code = code(Architecture::X86_64, bytes, &[0x1000]);
            let found: Vec<u64> = code.instructions(0, u64::MAX).map(|(at, _)| at - 0x1000).collect();
            assert_eq!(found, expected, "{bytes:x?}");
        }
    }

    #[test]
    fn direct_transfers_have_targets() {
        let x86 = code(Architecture::X86_64, X86, &[0x1000]);
        let found: Vec<(u64, u64)> = (0x1000..0x1010).filter_map(|at| Some((at, x86.direct_target(at)?))).collect();
        assert_eq!(found, [(0x1001, 0x1006), (0x1006, 0x1008), (0x100A, 0x100C)]);
        assert!(x86.is_jump(0x1008) && !x86.is_jump(0x1001) && !x86.is_jump(0x100C));
        assert!(x86.contains(0x1002) && !x86.contains(0x100F));
        // bl +8; b -4; b.eq +8; cbnz x0, -8; tbz w0, #3, +12; br x1; nop
        let words: [u32; 7] =
            [0x9400_0002, 0x17FF_FFFF, 0x5400_0040, 0xB5FF_FFC0, 0x3618_0060, 0xD61F_0020, 0xD503_201F];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let arm = code(Architecture::Aarch64, &bytes, &[0x1000]);
        let found: Vec<u64> = (0x1000..0x1020).filter_map(|at| arm.direct_target(at)).collect();
        assert_eq!(found, [0x1008, 0x1000, 0x1010, 0x1004, 0x101C]);
    }

    #[test]
    fn code_falls_through_to_the_first_stop_only() {
        let code = code(Architecture::X86_64, X86, &[0x1000]);
        assert!(code.falls_through(0x1000, 0x1001));
        assert!(code.falls_through(0x1006, 0x100A));
        assert!(!code.falls_through(0x1000, 0x1006));
        assert!(!code.falls_through(0x1001, 0x1006));
        assert!(!code.falls_through(0x1008, 0x1006));
    }

    #[test]
    fn decoding_restarts_at_each_symbol() {
        let bytes = [0x90, 0xE8, 0x90, 0x90, 0x90, 0x90, 0x90];
        let code = code(Architecture::X86_64, &bytes, &[0x1001, 0x1003]);
        let found: Vec<u64> = code.instructions(0, u64::MAX).map(|(at, _)| at).collect();
        assert_eq!(found, [0x1001, 0x1003, 0x1004, 0x1005, 0x1006]);
    }

    #[test]
    fn a_run_of_undecodable_bytes_counts_once() {
        let found = code(Architecture::X86_64, &[0x06, 0x06, 0x90, 0x06], &[0x1000]);
        assert_eq!(found.undecodable, 2);
        assert_eq!(found.instructions(0, u64::MAX).collect::<Vec<_>>(), [(0x1002, 1)]);
    }

    #[test]
    fn aarch64_transfers() {
        let words: [u32; 8] = [
            0x9400_0001, // bl
            0xD63F_0020, // blr x1
            0xD65F_03C0, // ret
            0x1400_0001, // b
            0x5400_0020, // b.eq
            0xB400_0020, // cbz x0
            0xD61F_0020, // br x1
            0xD503_201F, // nop
        ];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let code = code(Architecture::Aarch64, &bytes, &[0x1000]);
        assert_eq!(code.stops, [0x1000, 0x1004, 0x1008, 0x100C]);
        assert!(code.is_transfer(0x1010) && code.is_transfer(0x1014) && code.is_transfer(0x1018));
        assert!(!code.is_transfer(0x101C));
    }

    #[test]
    fn mappings_overlap_code_from_both_sides() {
        let code = code(Architecture::X86_64, X86, &[0x1000]);
        for (start, len, expected) in [
            (0x1000, 1, true),
            (0x100e, 8, true),
            (0x100f, 8, false),
            (0xff0, 0x10, false),
            (0xff0, 0x11, true),
            (0x2000u64.wrapping_neg(), 0x3000, false),
            (0x2000u64.wrapping_neg(), 0x3001, true),
        ] {
            assert_eq!(code.overlaps(start, len), expected, "{start:x} {len:x}");
        }
    }

    #[test]
    fn other_processors_are_refused() {
        let error = Code::decode(Architecture::Riscv64, Vec::new()).unwrap_err();
        assert!(error.to_string().contains("Riscv64"), "{error}");
    }
}
