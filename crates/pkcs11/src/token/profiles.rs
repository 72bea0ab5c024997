//! The profiles that the module implements, each as an object of the token that nobody can change.
//!
//! Ref. PKCS #11 v3.2 §4.13; PKCS #11 Profiles v3.2 §5.

use std::sync::Arc;

use cryptoki_sys::*;

use super::Slot;
use crate::object::attributes::Attributes;
use crate::object::{Draft, Home, Object};

const PROFILES: [CK_PROFILE_ID; 4] =
    [CKP_BASELINE_PROVIDER, CKP_EXTENDED_PROVIDER, CKP_AUTHENTICATION_TOKEN, CKP_PUBLIC_CERTIFICATES_TOKEN];

/// Returns true if a search asks for profiles by their class or by their attribute. Others don't find them: programs that list everything and were
/// written before version 3.0 don't know the class, and some of them stop at it.
pub(super) fn asked_for(template: &[(CK_ATTRIBUTE_TYPE, Vec<u8>)]) -> bool {
    let class = CKO_PROFILE.to_ne_bytes();
    template.iter().any(|(kind, value)| *kind == CKA_PROFILE_ID || *kind == CKA_CLASS && *value == class)
}

impl Slot {
    /// Shows the profiles, once there is a token.
    pub(super) fn show_profiles(&self) {
        let mut objects = self.write_objects();
        if objects.iter().any(|object| object.home == Home::Module) {
            return;
        }
        for profile in PROFILES {
            let mut attributes = Attributes::default();
            attributes.set(CKA_CLASS, &CKO_PROFILE.to_ne_bytes());
            attributes.set(CKA_PROFILE_ID, &profile.to_ne_bytes());
            attributes.set(CKA_UNIQUE_ID, format!("profile-{profile}").as_bytes());
            attributes.set(CKA_LABEL, b"");
            attributes.set_default_flag(CKA_TOKEN, true);
            for never in [CKA_PRIVATE, CKA_MODIFIABLE, CKA_COPYABLE, CKA_DESTROYABLE] {
                attributes.set_default_flag(never, false);
            }
            let draft = Draft { attributes, secret: None };
            objects.add(Arc::new(Object::new(self.next(), Home::Module, draft)));
        }
    }
}
