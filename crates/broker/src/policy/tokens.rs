//! The tokens that the service keeps, and who may use and change them.

use std::path::PathBuf;

use crate::identity::Peer;

/// The tokens of the service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// The folder of the store; none where the service keeps no tokens.
    pub store: Option<PathBuf>,
    /// The rights in tokens that have no section of their own.
    pub all: Rights,
    /// Tokens, by label, that have a section of their own.
    pub each: Vec<(String, Rights)>,
}

/// The rights in a token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// The people who may list its keys, open it with the user PIN, and use them.
    pub users: Who,
    /// The people who may change it, too.
    pub managers: Who,
}

/// A set of users, by number, and of groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Who {
    /// Users.
    pub uids: Vec<u32>,
    /// Groups.
    pub gids: Vec<u32>,
}

/// The right that somebody has in a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// Nothing; to them it is not there.
    Nothing,
    /// The right to use its keys with the user PIN.
    Use,
    /// The right to change it as well.
    Manage,
}

impl Who {
    fn has(&self, peer: &Peer) -> bool {
        self.uids.contains(&peer.uid) || self.gids.iter().any(|gid| peer.gids.contains(gid))
    }
}

impl Tokens {
    /// Returns what a peer may do with the token of that label. Root and the service's own user could read and write the store's file, so they may do all.
    pub fn right(&self, label: &str, peer: &Peer) -> Right {
        let own = rustix::process::geteuid().as_raw();
        let its = self.each.iter().find(|(its, _)| its == label).map_or(&self.all, |(_, rights)| rights);
        if peer.uid == 0 || peer.uid == own || its.managers.has(peer) {
            Right::Manage
        } else if its.users.has(peer) {
            Right::Use
        } else {
            Right::Nothing
        }
    }

    /// Returns true when a peer may use or make any token at all.
    pub fn know(&self, peer: &Peer) -> bool {
        let labels = self.each.iter().map(|(label, _)| label.as_str());
        // No section is for the label that no token has.
        labels.chain([""]).any(|label| self.right(label, peer) > Right::Nothing)
    }

    /// Returns true when anyone but root and the broker's own user is named.
    pub(super) fn name_others(&self) -> bool {
        let all = self.each.iter().map(|(_, rights)| rights).chain([&self.all]);
        let mut who = all.flat_map(|rights| [&rights.users, &rights.managers]);
        who.any(|who| !who.uids.is_empty() || !who.gids.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;

    fn right(policy: &Policy, label: &str, uid: u32, gids: &[u32]) -> Right {
        policy.tokens().right(label, &Peer { pid: 1, uid, gids: gids.to_vec() })
    }

    #[test]
    fn a_section_for_a_token_counts_alone_for_it() {
        let text = "[tokens]\nstore = \"/srv\"\nusers = [\"7\", \"@70\"]\nmanagers = [\"8\"]\n\
                    [[token]]\nlabel = \"web\"\nusers = [\"9\"]\n";
        let policy = Policy::parse(text, "test.toml".as_ref()).unwrap();
        assert_eq!(policy.tokens().store.as_deref(), Some("/srv".as_ref()));
        let of = |label, uid, gids: &[u32]| right(&policy, label, uid, gids);
        assert_eq!(
            [of("a", 7, &[]), of("a", 6, &[70]), of("a", 8, &[])],
            [Right::Use, Right::Use, Right::Manage]
        );
        assert_eq!([of("a", 9, &[]), of("web", 9, &[])], [Right::Nothing, Right::Use]);
        assert_eq!([of("web", 7, &[70]), of("web", 8, &[])], [Right::Nothing; 2]);
        assert_eq!(of("web", 0, &[]), Right::Manage, "root");
        let none = Policy::parse("[default]\n", "test.toml".as_ref()).unwrap();
        assert_eq!((none.tokens().store.as_deref(), right(&none, "web", 9, &[])), (None, Right::Nothing));
    }

    #[test]
    fn mistakes_name_their_line_and_the_remedy() {
        for (text, line, said) in [
            ("[tokens]\nusers = [\"7\"]\n", 1, "store"),
            ("[tokens]\nstore = \"srv\"\n", 2, "from the root"),
            ("[tokens]\nstore = \"/srv\"\nusers = [\"nobody there\"]\n", 3, "no user"),
            ("[tokens]\nstore = \"/srv\"\nmanagers = [\"@no group\"]\n", 3, "no group"),
            ("[[token]]\nlabel = \"web\"\n", 2, "[tokens]"),
            (
                "[tokens]\nstore = \"/srv\"\n[[token]]\nlabel = \"a\"\n[[token]]\nlabel = \"a\"\n",
                6,
                "already",
            ),
        ] {
            let error = Policy::parse(text, "test.toml".as_ref()).unwrap_err();
            assert!(error.line == line && error.what.contains(said), "{text}: {error}");
        }
    }
}
