//! Handles: numbers that mean something only with the document they come from.

/// Defines a handle of something of which there are fewer than 2^32.
macro_rules! handle {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            #[inline]
            pub(crate) fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect(concat!("fewer than 2^32 ", $what)))
            }

            /// The position, from 0 on.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The position as a number, which means something only with the document.
            #[inline]
            pub fn number(self) -> u32 {
                self.0
            }

            /// The handle of a [`number`](Self::number).
            #[inline]
            pub fn from_number(number: u32) -> Self {
                Self(number)
            }
        }
    };
}
