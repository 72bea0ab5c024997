/* Prints, as Rust constants, where the installed intel-ipsec-mb.h puts what the bench uses. */
#include <intel-ipsec-mb.h>
#include <stddef.h>
#include <stdio.h>

#define MANAGER(field) printf("pub const MANAGER_%s: usize = %zu;\n", #field, offsetof(IMB_MGR, field))
#define JOB(name, field) printf("pub const JOB_%s: usize = %zu;\n", name, offsetof(IMB_JOB, field))
#define NUMBER(name) printf("pub const %s: u32 = %u;\n", #name, (unsigned)name)
#define SIZE(name, type) printf("pub const %s: usize = %zu;\n", name, sizeof(type))

int main(void)
{
    NUMBER(IMB_VERSION_NUM);

    MANAGER(get_next_job);
    MANAGER(submit_job_nocheck);
    MANAGER(get_completed_job);
    MANAGER(flush_job);
    MANAGER(get_next_burst);
    MANAGER(submit_burst_nocheck);
    MANAGER(flush_burst);
    MANAGER(submit_cipher_burst);
    MANAGER(submit_cipher_burst_nocheck);
    MANAGER(submit_hash_burst);
    MANAGER(submit_hash_burst_nocheck);
    MANAGER(keyexp_128);
    MANAGER(keyexp_256);
    MANAGER(cmac_subkey_gen_128);
    MANAGER(cmac_subkey_gen_256);
    MANAGER(des_key_sched);
    MANAGER(md5_one_block);
    MANAGER(sha1_one_block);
    MANAGER(sha256_one_block);
    MANAGER(sha512_one_block);
    MANAGER(sha1);
    MANAGER(sha256);
    MANAGER(sha512);
    MANAGER(gcm128_pre);
    MANAGER(gcm256_pre);
    MANAGER(gcm128_enc);
    MANAGER(gcm256_enc);
    MANAGER(gcm128_dec);
    MANAGER(gcm256_dec);
    MANAGER(chacha20_poly1305_init);
    MANAGER(chacha20_poly1305_enc_update);
    MANAGER(chacha20_poly1305_dec_update);
    MANAGER(chacha20_poly1305_finalize);
    MANAGER(kasumi_init_f8_key_sched);
    MANAGER(kasumi_init_f9_key_sched);
    MANAGER(f8_1_buffer);
    MANAGER(f8_n_buffer);
    MANAGER(f9_1_buffer_user);
    MANAGER(crc32_ethernet_fcs);

    JOB("ENC_KEYS", enc_keys);
    JOB("DEC_KEYS", dec_keys);
    JOB("KEY_LEN", key_len_in_bytes);
    JOB("SRC", src);
    JOB("DST", dst);
    JOB("CIPHER_START", cipher_start_src_offset_in_bytes);
    JOB("CIPHER_LEN", msg_len_to_cipher_in_bytes);
    JOB("HASH_START", hash_start_src_offset_in_bytes);
    JOB("HASH_LEN", msg_len_to_hash_in_bytes);
    JOB("IV", iv);
    JOB("IV_LEN", iv_len_in_bytes);
    JOB("TAG", auth_tag_output);
    JOB("TAG_LEN", auth_tag_output_len_in_bytes);
    JOB("HASH_KEYS", u);
    JOB("STATUS", status);
    JOB("CIPHER_MODE", cipher_mode);
    JOB("DIRECTION", cipher_direction);
    JOB("HASH", hash_alg);
    JOB("ORDER", chain_order);

    NUMBER(IMB_CIPHER_CBC);
    NUMBER(IMB_CIPHER_CNTR);
    NUMBER(IMB_CIPHER_ECB);
    NUMBER(IMB_CIPHER_DES);
    NUMBER(IMB_CIPHER_DES3);
    NUMBER(IMB_CIPHER_NULL);
    NUMBER(IMB_CIPHER_GCM);
    NUMBER(IMB_CIPHER_CHACHA20_POLY1305);
    NUMBER(IMB_CIPHER_KASUMI_UEA1_BITLEN);
    NUMBER(IMB_DIR_ENCRYPT);
    NUMBER(IMB_DIR_DECRYPT);
    NUMBER(IMB_AUTH_NULL);
    NUMBER(IMB_AUTH_MD5);
    NUMBER(IMB_AUTH_HMAC_SHA_1);
    NUMBER(IMB_AUTH_HMAC_SHA_256);
    NUMBER(IMB_AUTH_HMAC_SHA_512);
    NUMBER(IMB_AUTH_SHA_1);
    NUMBER(IMB_AUTH_SHA_256);
    NUMBER(IMB_AUTH_SHA_512);
    NUMBER(IMB_AUTH_AES_GMAC);
    NUMBER(IMB_AUTH_CHACHA20_POLY1305);
    NUMBER(IMB_AUTH_CRC32_ETHERNET_FCS);
    NUMBER(IMB_AUTH_AES_CMAC);
    NUMBER(IMB_AUTH_AES_CMAC_256);
    NUMBER(IMB_ORDER_CIPHER_HASH);
    NUMBER(IMB_ORDER_HASH_CIPHER);
    NUMBER(IMB_STATUS_COMPLETED);
    NUMBER(IMB_MAX_BURST_SIZE);

    SIZE("JOB_SIZE", IMB_JOB);
    SIZE("GCM_KEY", struct gcm_key_data);
    SIZE("GCM_CONTEXT", struct gcm_context_data);
    SIZE("CHACHA_CONTEXT", struct chacha20_poly1305_context_data);
    SIZE("KASUMI_KEY", kasumi_key_sched_t);
    return 0;
}
