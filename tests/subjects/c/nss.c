/* NSS: its software token, as Firefox and its like use it. */

#include "subject.h"

#include <nss.h>
#include <pk11pub.h>

static PK11SymKey *handle;

static void begin(void) {
    REQUIRE(NSS_NoDB_Init(NULL) == SECSuccess);
}

static void key(const uint8_t bytes[16]) {
    PK11SlotInfo *slot = PK11_GetInternalSlot();
    SECItem item = {siBuffer, (unsigned char *)bytes, 16};
    handle = PK11_ImportSymKey(slot, CKM_AES_GCM, PK11_OriginUnwrap, CKA_ENCRYPT, &item, NULL);
    REQUIRE(handle != NULL);
}

static void seal(const uint8_t nonce[12], const uint8_t *in, uint8_t *out) {
    CK_NSS_GCM_PARAMS parameters = {(CK_BYTE_PTR)nonce, 12, NULL, 0, 128};
    SECItem item = {siBuffer, (unsigned char *)&parameters, sizeof parameters};
    unsigned int length = 0;
    REQUIRE(PK11_Encrypt(handle, CKM_AES_GCM, &item, out, &length, LENGTH + 16, in, LENGTH) == SECSuccess);
    REQUIRE(length == LENGTH + 16);
}

static void hash(const uint8_t *in, size_t length, uint8_t digest[32]) {
    REQUIRE(PK11_HashBuf(SEC_OID_SHA256, digest, in, (PRInt32)length) == SECSuccess);
}
