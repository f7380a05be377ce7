//! The comparison of one section of two profiles, and of all sections combined.

/// The comparison of a section.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SectionDiff {
    /// The section's name.
    pub section: &'static str,
    /// The name of its threshold; see [`diff_gates`](crate::driver::diff_gates).
    pub gate: String,
    /// The sum of the smaller share over all keys.
    pub overlap: f64,
    /// The proportion of keys that both have.
    pub jaccard: f64,
    /// The number of keys in both.
    pub common: u64,
    /// The number of keys in the first only.
    pub only_first: u64,
    /// The number of keys in the second only.
    pub only_second: u64,
    /// The number of events in the first.
    pub first_events: u128,
    /// The number of events in the second.
    pub second_events: u128,
}

impl SectionDiff {
    /// Returns an empty comparison of a section.
    pub(super) fn new(section: &'static str) -> Self {
        Self {
            section,
            gate: gate_of(section),
            overlap: 0.0,
            jaccard: 0.0,
            common: 0,
            only_first: 0,
            only_second: 0,
            first_events: 0,
            second_events: 0,
        }
    }
}

/// Returns the threshold of a section. Sections have the names of their formats, thresholds have names that read well
/// on a command line.
pub(super) fn gate_of(section: &str) -> String {
    let own = match section {
        "callCountProfiles" => "call-counts",
        "conditionalProfiles" => "conditionals",
        "virtualInvokeProfiles" => "virtual-invokes",
        "monitorProfiles" => "monitors",
        "samplingProfiles" => "samples",
        "instanceofProfiles" => "instanceofs",
        "IPVK_IndirectCallTarget" => "indirect-call-targets",
        "IPVK_MemOPSize" => "memop-sizes",
        "IPVK_VTableTarget" => "vtables",
        other => return other.replace(' ', "-"),
    };
    own.to_string()
}

/// Returns the mean overlap of all sections, weighted by their average share of all events in the two profiles.
/// Sections in `apart` do not count events: only the first of them is used, and only if there are no other sections.
pub(super) fn total_overlap(sections: &[SectionDiff], apart: &[&str]) -> f64 {
    let is_apart = |section: &&SectionDiff| apart.contains(&section.section);
    let mut counted: Vec<&SectionDiff> = sections.iter().filter(|section| !is_apart(section)).collect();
    if counted.is_empty() {
        let first = apart.iter().find_map(|name| sections.iter().find(|section| section.section == *name));
        counted.extend(first);
    }
    let share = |part: u128, whole: u128| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    let first: u128 = counted.iter().map(|section| section.first_events).sum();
    let second: u128 = counted.iter().map(|section| section.second_events).sum();
    if first == 0 && second == 0 {
        return 1.0;
    }
    if counted.iter().all(|section| section.overlap == 1.0) {
        return 1.0;
    }
    let weight =
        |section: &SectionDiff| (share(section.first_events, first) + share(section.second_events, second)) / 2.0;
    counted.iter().map(|section| weight(section) * section.overlap).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(name: &'static str, overlap: f64, events: u128) -> SectionDiff {
        let mut section = SectionDiff::new(name);
        (section.overlap, section.first_events, section.second_events) = (overlap, events, 2 * events);
        section
    }

    #[test]
    fn tiny_sections_do_not_decide_about_the_total() {
        let sections = [section("counters", 0.99, 780_000), section("IPVK_MemOPSize", 0.1, 22)];
        assert!(total_overlap(&sections, &[]) > 0.98);
        assert_eq!(total_overlap(&[], &[]), 1.0);
        let even = [section("a", 0.5, 10), section("b", 1.0, 10)];
        assert_eq!(total_overlap(&even, &[]), 0.75);
    }

    #[test]
    fn other_counts_are_compared_alone_or_not_at_all() {
        let apart = ["memory bytes", "allocations"];
        let bytes = section("memory bytes", 0.25, 1 << 40);
        assert_eq!(total_overlap(&[section("counters", 0.5, 1), bytes.clone()], &apart), 0.5);
        assert_eq!(total_overlap(&[section("allocations", 1.0, 1), bytes], &apart), 0.25);
    }

    #[test]
    fn a_section_on_one_side_only_overlaps_nowhere() {
        let mut alone = section("counters", 0.0, 5);
        alone.second_events = 0;
        assert_eq!(total_overlap(&[alone], &[]), 0.0);
    }
}
