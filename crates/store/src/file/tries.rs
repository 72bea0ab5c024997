//! The tries of PINs, which are on the disk before a PIN is looked at.

use super::File;
use super::contents::{MOST_TRIES, MOST_TRIES_OF_USER};
use super::database::{TRIES, place, tries_key, user_tries_key};
use crate::Error;
use crate::names::{Role, TokenId};

impl File {
    /// Counts a try of a PIN, and returns how many are left after it. The count is on the disk before the PIN is compared, so no crash
    /// gives a try back.
    ///
    /// # Errors
    /// [`Error::Locked`] when none is left; [`Error::NoToken`]; those of [`File::open`].
    pub fn count_try(&mut self, token: TokenId, role: Role) -> Result<u8, Error> {
        self.ready()?;
        let tries = self.token(token)?.tries[place(role)];
        if tries >= MOST_TRIES {
            return Err(Error::Locked(role));
        }
        self.set_tries(token, role, tries + 1)?;
        Ok(MOST_TRIES - tries - 1)
    }

    /// Counts a try of a PIN by a user who may make [`MOST_TRIES_OF_USER`] in a row, for the token and for that user in one step, and returns how
    /// many the user has left. What is counted for the token is cleared by anybody's right PIN, and what is counted for a user by that user's alone.
    ///
    /// # Errors
    /// [`Error::UserTries`] when the user has none left; those of [`File::count_try`].
    pub fn count_try_of(&mut self, token: TokenId, role: Role, user: u32) -> Result<u8, Error> {
        self.ready()?;
        let known = self.token(token)?;
        let (tries, own) = (known.tries[place(role)], known.tries_of(role, user));
        if own >= MOST_TRIES_OF_USER {
            return Err(Error::UserTries(role));
        }
        if tries >= MOST_TRIES {
            return Err(Error::Locked(role));
        }
        let forgotten = known.forgotten_for(role, user);
        self.write(|transaction| {
            let mut table = transaction.open_table(TRIES)?;
            if let Some((role, user)) = forgotten {
                table.remove(&user_tries_key(token, role, user)[..])?;
            }
            table.insert(&tries_key(token, role)[..], &[tries + 1][..])?;
            table.insert(&user_tries_key(token, role, user)[..], &[own + 1][..])?;
            Ok(())
        })?;
        let known = self.known(token);
        if let Some((role, user)) = forgotten {
            known.set_tries_of(role, user, 0);
        }
        known.tries[place(role)] = tries + 1;
        known.set_tries_of(role, user, own + 1);
        Ok((MOST_TRIES - tries - 1).min(MOST_TRIES_OF_USER - own - 1))
    }

    /// Returns a user's tries of a PIN since that user's last right one.
    ///
    /// # Errors
    /// [`Error::NoToken`].
    pub fn tries_of(&self, token: TokenId, role: Role, user: u32) -> Result<u8, Error> {
        Ok(self.token(token)?.tries_of(role, user))
    }

    /// Forgets the tries after a right PIN.
    ///
    /// # Errors
    /// [`Error::NoToken`]; those of [`File::open`].
    pub fn clear_tries(&mut self, token: TokenId, role: Role) -> Result<(), Error> {
        self.set_tries(token, role, 0)
    }

    /// Forgets the tries after a right PIN of a user: the token's, and that user's own.
    ///
    /// # Errors
    /// [`Error::NoToken`]; those of [`File::open`].
    pub fn clear_tries_of(&mut self, token: TokenId, role: Role, user: u32) -> Result<(), Error> {
        self.ready()?;
        self.token(token)?;
        self.write(|transaction| {
            let mut table = transaction.open_table(TRIES)?;
            table.insert(&tries_key(token, role)[..], &[0][..])?;
            table.remove(&user_tries_key(token, role, user)[..])?;
            Ok(())
        })?;
        let known = self.known(token);
        known.tries[place(role)] = 0;
        known.set_tries_of(role, user, 0);
        Ok(())
    }

    fn set_tries(&mut self, token: TokenId, role: Role, tries: u8) -> Result<(), Error> {
        self.token(token)?;
        self.write(|transaction| {
            transaction.open_table(TRIES)?.insert(&tries_key(token, role)[..], &[tries][..])?;
            Ok(())
        })?;
        self.known(token).tries[place(role)] = tries;
        Ok(())
    }
}
