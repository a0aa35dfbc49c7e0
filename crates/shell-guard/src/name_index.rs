//! A hash table of the names in the rows of a table, built by the compiler: a hook that runs for a single call has no
//! time to build one.

/// More than twice as many as a table has names.
const SLOTS: usize = 2048;

/// An open hash table that ignores ASCII case.
pub(crate) struct NameIndex {
    slots: [Slot; SLOTS],
    used: usize,
    /// The length of the longest name, in bytes.
    longest: usize,
}

/// Where a name is: in which row, and which of the row's names it is.
#[derive(Clone, Copy)]
struct Slot {
    row: usize,
    name: usize,
    is_used: bool,
}

/// The index of a static table whose rows have `names`. A constant function can't be generic over the rows.
macro_rules! name_index {
    ($table:expr) => {{
        let (mut index, mut row) = ($crate::name_index::NameIndex::new(), 0);
        while row < $table.len() {
            index = index.with_row(row, $table[row].names);
            row += 1;
        }
        index
    }};
}
pub(crate) use name_index;

impl NameIndex {
    /// The index of a table without rows.
    pub(crate) const fn new() -> Self {
        Self { slots: [Slot { row: 0, name: 0, is_used: false }; SLOTS], used: 0, longest: 0 }
    }

    /// The same with the next row: its number and its names. A name that ends in `.*` is found without this suffix.
    pub(crate) const fn with_row(mut self, row: usize, names: &[&str]) -> Self {
        let mut name = 0;
        while name < names.len() {
            let bytes = match names[name].as_bytes() {
                [stem @ .., b'.', b'*'] => stem,
                bytes => bytes,
            };
            let mut at = start(bytes);
            while self.slots[at].is_used {
                at = (at + 1) % SLOTS;
            }
            self.slots[at] = Slot { row, name, is_used: true };
            self.used += 1;
            assert!(2 * self.used <= SLOTS, "there are too many names");
            if bytes.len() > self.longest {
                self.longest = bytes.len();
            }
            name += 1;
        }
        self
    }

    /// Returns where `name` may be, in the order of the rows: the row, and which of its names to compare with.
    pub(crate) fn candidates(&self, name: &str) -> impl Iterator<Item = (usize, usize)> {
        let slots = (name.len() <= self.longest).then(|| {
            let (after, from_start) = self.slots.split_at(start(name.as_bytes()));
            from_start.iter().chain(after).take_while(|slot| slot.is_used)
        });
        slots.into_iter().flatten().map(|slot| (slot.row, slot.name))
    }
}

/// Returns the first slot that `name` may have.
const fn start(name: &[u8]) -> usize {
    let mut hash: usize = 5381;
    let mut at = 0;
    while at < name.len() {
        hash = hash.wrapping_mul(33) ^ name[at].to_ascii_lowercase() as usize;
        at += 1;
    }
    hash % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: [&[&str]; 3] = [&["a", "mkfs.*"], &["A", "b"], &["a"]];
    static INDEX: NameIndex = NameIndex::new().with_row(0, ROWS[0]).with_row(1, ROWS[1]).with_row(2, ROWS[2]);

    fn found(name: &str) -> Vec<usize> {
        let is_it = |&(row, at): &(usize, usize)| ROWS[row][at].eq_ignore_ascii_case(name);
        INDEX.candidates(name).filter(is_it).map(|(row, _)| row).collect()
    }

    #[test]
    fn names_are_found_in_the_order_of_rows_in_any_case() {
        assert_eq!(found("a"), [0, 1, 2]);
        assert_eq!(found("B"), [1]);
        assert!(found("c").is_empty());
    }

    #[test]
    fn a_name_with_any_extension_is_found_by_its_stem() {
        assert!(INDEX.candidates("mkfs").any(|place| place == (0, 1)));
    }

    #[test]
    fn a_longer_name_than_any_is_not_even_hashed() {
        assert_eq!(INDEX.candidates("mkfs.").count(), 0);
    }
}
