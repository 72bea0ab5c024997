"""Writes NIST's vectors of ML-KEM, ML-DSA and SLH-DSA, from the JSON in the folder of a Go module, as response files. Of a signature of SLH-DSA
to make, its SHA-256 is kept."""

import gzip
import hashlib
import json
import pathlib
import sys

source, target = map(pathlib.Path, sys.argv[1:3])


def cases(folder, prompts, results):
    """Yields each case with what its group says and what is expected of it."""
    groups = [json.load(gzip.open(folder / f"{name}.json.gz"))["testGroups"] for name in (prompts, results)]
    for group, answers in zip(*groups, strict=True):
        assert group["tgId"] == answers["tgId"]
        common = {name: value for name, value in group.items() if name != "tests"}
        for case, answer in zip(group["tests"], answers["tests"], strict=True):
            assert case["tcId"] == answer["tcId"]
            yield common | case | answer


def write(file, folder, prompts, results, digest=False):
    """Writes the cases of one operation."""
    path = target / f"{file}.rsp"
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="ascii") as out:
        for case in cases(folder, prompts, results):
            if digest:
                signature = bytes.fromhex(case.pop("signature"))
                case["signatureDigest"] = hashlib.sha256(signature).hexdigest()
            out.writelines(f"{key} = {value}\n" for key, value in case.items())
            out.write("\n")


hashes = source / "sign/slhdsa/testdata"
write("slhdsa/keyGen", hashes, "keyGen_prompt", "keyGen_results")
write("slhdsa/sigGen", hashes, "sigGen_prompt", "sigGen_results", digest=True)
write("slhdsa/sigVer", hashes, "verify_prompt", "verify_results")
for algorithm, standard, folder, operations in [
    ("mlkem", "ML-KEM-{}-FIPS203", source / "kem/mlkem/testdata", ["keyGen", "encapDecap"]),
    ("mldsa", "ML-DSA-{}-FIPS204", source / "sign/mldsa/testdata", ["keyGen", "sigGen", "sigVer"]),
]:
    for operation in operations:
        write(f"{algorithm}/{operation}", folder / standard.format(operation), "prompt", "expectedResults")
