//! Objects and search.
//!
//! Ref. PKCS #11 v3.2 §5.7.

use cryptoki_sys::*;

use super::{functions, within};
use crate::abi::{Wanted, attributes, put};
use crate::module::Module;
use crate::object::attributes::Attributes;
use crate::object::{make, rules};
use crate::refusal::{Refusal, demand, refuse};

functions! {
    fn C_CreateObject(
        handle: CK_SESSION_HANDLE,
        template: *mut CK_ATTRIBUTE,
        count: CK_ULONG,
        object: *mut CK_OBJECT_HANDLE,
    ) {
        let module = Module::get()?;
        let session = module.session(handle)?;
        demand(!object.is_null(), CKR_ARGUMENTS_BAD)?;
        let draft = make::described(module.features, &attributes(template, count)?)?;
        session.check_writes(draft.attributes.is(CKA_TOKEN))?;
        put(object, session.slot.add(draft, handle)?)
    }

    fn C_CopyObject(
        handle: CK_SESSION_HANDLE,
        from: CK_OBJECT_HANDLE,
        template: *mut CK_ATTRIBUTE,
        count: CK_ULONG,
        object: *mut CK_OBJECT_HANDLE,
    ) {
        let session = Module::get()?.session(handle)?;
        demand(!object.is_null(), CKR_ARGUMENTS_BAD)?;
        let from = session.slot.object(from, CKR_OBJECT_HANDLE_INVALID)?;
        let change = Attributes::from_template(&attributes(template, count)?)?;
        let mut new = (*from.attributes()).clone();
        rules::check_change(&new, &change, true)?;
        change.iter().for_each(|(kind, value)| new.set(kind, value));
        session.check_writes(new.is(CKA_TOKEN))?;
        put(object, session.slot.copy(&from, new, handle)?)
    }

    fn C_DestroyObject(handle: CK_SESSION_HANDLE, object: CK_OBJECT_HANDLE) {
        let session = Module::get()?.session(handle)?;
        let object = session.slot.object(object, CKR_OBJECT_HANDLE_INVALID)?;
        session.check_writes(object.attributes().is(CKA_TOKEN))?;
        session.slot.remove(&object)
    }

    fn C_GetObjectSize(handle: CK_SESSION_HANDLE, object: CK_OBJECT_HANDLE, size: *mut CK_ULONG) {
        let session = Module::get()?.session(handle)?;
        let object = session.slot.object(object, CKR_OBJECT_HANDLE_INVALID)?;
        put(size, object.attributes().encode().len() as CK_ULONG)
    }

    fn C_GetAttributeValue(
        handle: CK_SESSION_HANDLE,
        object: CK_OBJECT_HANDLE,
        template: *mut CK_ATTRIBUTE,
        count: CK_ULONG,
    ) {
        let module = Module::get()?;
        let session = module.session(handle)?;
        let object = session.slot.object(object, CKR_OBJECT_HANDLE_INVALID)?;
        // A key that stays in the service says so, whatever its attributes promise.
        let secret = || session.slot.secret(&object).map_err(|Refusal(value)| match value {
            CKR_KEY_UNEXTRACTABLE | CKR_TOKEN_WRITE_PROTECTED => Refusal(CKR_ATTRIBUTE_SENSITIVE),
            value => Refusal(value),
        });
        Wanted::new(template, count)?.answer(|kind| object.value(module.features, kind, secret))
    }

    fn C_SetAttributeValue(
        handle: CK_SESSION_HANDLE,
        object: CK_OBJECT_HANDLE,
        template: *mut CK_ATTRIBUTE,
        count: CK_ULONG,
    ) {
        let session = Module::get()?.session(handle)?;
        let object = session.slot.object(object, CKR_OBJECT_HANDLE_INVALID)?;
        let change = Attributes::from_template(&attributes(template, count)?)?;
        let mut new = (*object.attributes()).clone();
        session.check_writes(new.is(CKA_TOKEN))?;
        rules::check_change(&new, &change, false)?;
        change.iter().for_each(|(kind, value)| new.set(kind, value));
        session.slot.set_attributes(&object, new)
    }

    fn C_FindObjectsInit(handle: CK_SESSION_HANDLE, template: *mut CK_ATTRIBUTE, count: CK_ULONG) {
        let template = attributes(template, count)?;
        within(handle, |_, session, operations| {
            demand(operations.search.is_none(), CKR_OPERATION_ACTIVE)?;
            let template: Vec<_> = template.iter().map(|(kind, value)| (*kind, value.to_vec())).collect();
            operations.search = Some(session.slot.find(&template)?.into_iter());
            Ok(())
        })
    }

    fn C_FindObjects(
        handle: CK_SESSION_HANDLE,
        objects: *mut CK_OBJECT_HANDLE,
        most: CK_ULONG,
        count: *mut CK_ULONG,
    ) {
        demand(!count.is_null() && (most == 0 || !objects.is_null()), CKR_ARGUMENTS_BAD)?;
        within(handle, |_, _, operations| {
            let search = operations.search.as_mut().ok_or(Refusal(CKR_OPERATION_NOT_INITIALIZED))?;
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            let mut found = 0;
            for object in search.take(most) {
                // SAFETY: the program's promise; there is room for `most`.
                unsafe { put(objects.add(found), object)? };
                found += 1;
            }
            // SAFETY: the program's promise.
            unsafe { put(count, found as CK_ULONG) }
        })
    }

    fn C_FindObjectsFinal(handle: CK_SESSION_HANDLE) {
        within(handle, |_, _, operations| match operations.search.take() {
            Some(_) => Ok(()),
            None => refuse(CKR_OPERATION_NOT_INITIALIZED),
        })
    }
}
