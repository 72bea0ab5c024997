//! Places for the names at the ends of curves, which often end close together.

/// The pixels between two names.
const APART: i32 = 17;

/// Returns a height for each name, near the one that it would like, and apart from all others. The names keep the order
/// of their wishes, and stand between `top` and `bottom`; if there are too many for that, they stand closer.
pub fn apart(wishes: &[i32], top: i32, bottom: i32) -> Vec<i32> {
    let mut order: Vec<usize> = (0..wishes.len()).collect();
    order.sort_by_key(|&i| wishes[i]);
    let gaps = wishes.len().saturating_sub(1).max(1) as i32;
    let gap = APART.min((bottom - top) / gaps);
    let mut places = vec![0; wishes.len()];
    // Each name evades, from the top on, the one above it.
    let mut free = top;
    for &i in &order {
        places[i] = wishes[i].max(free);
        free = places[i] + gap;
    }
    // Names that went too far evade the one below them, from the bottom on.
    let mut free = bottom;
    for &i in order.iter().rev() {
        places[i] = places[i].min(free);
        free = places[i] - gap;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_apart_stay() {
        assert_eq!(apart(&[300, 100, 200], 40, 380), [300, 100, 200]);
        assert_eq!(apart(&[], 40, 380), []);
    }

    #[test]
    fn names_evade_each_other_and_the_edges() {
        assert_eq!(apart(&[100, 100, 101], 40, 380), [100, 117, 134]);
        assert_eq!(apart(&[379, 379, 10], 40, 380), [363, 380, 40]);
    }

    #[test]
    fn many_names_stand_closer() {
        let places = apart(&[50; 101], 40, 240);
        assert!(places.windows(2).all(|two| two[1] - two[0] == 2), "{places:?}");
        assert_eq!((places[0], places[100]), (40, 240));
    }
}
