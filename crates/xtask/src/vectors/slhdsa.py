"""Writes NIST's vectors of SLH-DSA, from the folder of their JSON, as response files. Of a signature to make, its SHA-256 is kept."""

import gzip
import hashlib
import json
import pathlib
import sys

source, target = map(pathlib.Path, sys.argv[1:3])


def cases(prompts, results):
    """Yields each case with what its group says and what is expected of it."""
    groups = [json.load(gzip.open(source / f"{name}.json.gz"))["testGroups"] for name in (prompts, results)]
    for group, answers in zip(*groups, strict=True):
        assert group["tgId"] == answers["tgId"]
        common = {name: value for name, value in group.items() if name != "tests"}
        for case, answer in zip(group["tests"], answers["tests"], strict=True):
            assert case["tcId"] == answer["tcId"]
            yield common | case | answer


def write(name, prompts, results):
    with open(target / f"{name}.rsp", "w", encoding="ascii") as out:
        for case in cases(prompts, results):
            if name == "sigGen":
                signature = bytes.fromhex(case.pop("signature"))
                case["signatureDigest"] = hashlib.sha256(signature).hexdigest()
            out.writelines(f"{key} = {value}\n" for key, value in case.items())
            out.write("\n")


target.mkdir(parents=True, exist_ok=True)
write("keyGen", "keyGen_prompt", "keyGen_results")
write("sigGen", "sigGen_prompt", "sigGen_results")
write("sigVer", "verify_prompt", "verify_results")
