//! DWARF discriminators, which distinguish copies of code from the same line.
//!
//! A discriminator has up to three parts: the base, which the compiler that reads the profile also knows; the
//! duplication factor, which is the number of iterations that a loop body executes after unrolling or vectorizing; and
//! the number of a copy. Each part takes 1, 7 or 14 bits.

/// The encoding of the program's discriminators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Discriminators {
    /// Whether later passes have added bits, which are part of the location.
    pub(super) flow_sensitive: bool,
    /// Whether the discriminator of a call with a pseudo-probe has the number of the probe.
    pub(super) of_probes: bool,
}

impl Discriminators {
    /// Returns the discriminator of a location in the profile.
    pub(super) fn base(self, raw: u32) -> u32 {
        match raw {
            _ if self.flow_sensitive => raw,
            _ if is_of_probe(raw) && self.of_probes => base_of_probe(raw),
            _ => part(raw),
        }
    }

    /// Returns the number of executions in the source per execution in the program.
    pub(super) fn factor(self, raw: u32) -> u64 {
        if self.flow_sensitive || is_of_probe(raw) {
            return 1;
        }
        part(rest(raw)).max(1).into()
    }
}

/// Returns true for a call with a pseudo-probe, which has the number of the probe instead of a discriminator.
fn is_of_probe(raw: u32) -> bool {
    raw & 7 == 7
}

const HAS_BASE: u32 = 1 << 28;

fn base_of_probe(raw: u32) -> u32 {
    if raw & HAS_BASE != 0 { (raw >> 16) & 7 } else { probe_of(raw) }
}

/// The number of the probe of a call.
pub(super) fn probe_of(raw: u32) -> u32 {
    (raw >> 3) & if raw & HAS_BASE != 0 { 0x1FFF } else { 0xFFFF }
}

/// Decodes a part. Bit 0 means that the part is missing, bit 6 that it is long.
fn part(raw: u32) -> u32 {
    if raw & 1 != 0 {
        return 0;
    }
    let low = (raw >> 1) & 0x1F;
    if raw & 0x40 != 0 { low | ((raw >> 2) & 0xFE0) } else { low }
}

fn rest(raw: u32) -> u32 {
    match raw {
        _ if raw & 1 != 0 => raw >> 1,
        _ if raw & 0x40 != 0 => raw >> 14,
        _ => raw >> 7,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_and_factor_of_code_that_was_duplicated() {
        let plain = Discriminators::default();
        for (raw, base, factor) in [(0, 0, 1), (2, 1, 1), (4, 2, 1), (6, 3, 1), (1028, 2, 4), (0x442, 0x101, 1)] {
            assert_eq!((plain.base(raw), plain.factor(raw)), (base, factor), "{raw}");
        }
    }

    #[test]
    fn flow_sensitive_discriminators_are_whole() {
        let flow_sensitive = Discriminators { flow_sensitive: true, ..Discriminators::default() };
        assert_eq!((flow_sensitive.base(1028), flow_sensitive.factor(1028)), (1028, 1));
    }

    #[test]
    fn a_probed_call_has_a_base_and_a_probe_id() {
        let newer = Discriminators { of_probes: true, ..Discriminators::default() };
        assert_eq!(newer.base(7 | 5 << 3), 5);
        assert_eq!(newer.base(7 | 5 << 3 | 3 << 16 | HAS_BASE), 3);
        assert_eq!(newer.factor(7 | 5 << 3 | 9 << 19), 1);
        assert_eq!(Discriminators::default().base(7 | 5 << 3), 0);
    }
}
