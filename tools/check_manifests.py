#!/usr/bin/env python3
"""Checks Kubernetes manifests against schemas: tools/check_manifests.py FILE...

What Kubernetes defines is checked whole by kubernetes-validate. Of a KServe ServingRuntime the field
names are compared with those of KServe's Python client, and its containers are checked as a pod's.
An MPIJob's fields are compared with those of the MPI operator's v2beta1, and its pods are checked as
such. Needs both packages, the second without what it depends on.
"""
import ast
import importlib.util
import pathlib
import sys

import kubernetes_validate
import yaml

VERSION = "1.31"


def kserve_fields(module, kind):
    """{field in JSON: its type} of a class of KServe's client, read without importing it."""
    package = pathlib.Path(importlib.util.find_spec("kserve").origin).parent
    tree = ast.parse((package / "models" / f"{module}.py").read_text())
    body = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == kind).body
    tables = {node.targets[0].id: ast.literal_eval(node.value) for node in body
              if isinstance(node, ast.Assign)}
    return {tables["attribute_map"][name]: kind for name, kind in tables["openapi_types"].items()}


def check_fields(value, fields, path):
    """Complaints about names that are unknown and values of another type."""
    types = {"bool": bool, "str": str, "int": int}
    for name, element in value.items():
        if name not in fields:
            yield f"{path}.{name}: no such field"
        elif not isinstance(element, types.get(fields[name], object)):
            yield f"{path}.{name}: expected {fields[name]}"


def check_runtime(manifest):
    spec = manifest["spec"]
    yield from check_fields(manifest, kserve_fields("v1alpha1_serving_runtime",
                                                    "V1alpha1ServingRuntime"), "")
    yield from check_fields(spec, kserve_fields("v1alpha1_serving_runtime_spec",
                                                "V1alpha1ServingRuntimeSpec"), "spec")
    known = kserve_fields("v1alpha1_supported_model_format", "V1alpha1SupportedModelFormat")
    for i, model_format in enumerate(spec["supportedModelFormats"]):
        yield from check_fields(model_format, known, f"spec.supportedModelFormats[{i}]")
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": manifest["metadata"],
           "spec": {"containers": spec["containers"]}}
    kubernetes_validate.validate(pod, VERSION, strict=True)


# Of the MPI operator's v2beta1: MPIJobSpec, RunPolicy and ReplicaSpec.
MPI_SPEC = {"slotsPerWorker": "int", "runPolicy": "", "mpiReplicaSpecs": "", "sshAuthMountPath": "str",
            "launcherCreationPolicy": "str", "mpiImplementation": "str", "runLauncherAsWorker": "bool"}
MPI_POLICY = {"cleanPodPolicy": "str", "ttlSecondsAfterFinished": "int", "activeDeadlineSeconds": "int",
              "backoffLimit": "int", "schedulingPolicy": "", "suspend": "bool", "managedBy": "str"}
MPI_REPLICA = {"replicas": "int", "template": "", "restartPolicy": "str"}


def check_mpi_job(manifest):
    spec = manifest["spec"]
    yield from check_fields(spec, MPI_SPEC, "spec")
    yield from check_fields(spec.get("runPolicy", {}), MPI_POLICY, "spec.runPolicy")
    if set(spec["mpiReplicaSpecs"]) != {"Launcher", "Worker"}:
        yield "spec.mpiReplicaSpecs: expected Launcher and Worker"
    for name, replica in spec["mpiReplicaSpecs"].items():
        yield from check_fields(replica, MPI_REPLICA, f"spec.mpiReplicaSpecs.{name}")
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": manifest["metadata"],
               "spec": replica["template"]["spec"]}
        kubernetes_validate.validate(pod, VERSION, strict=True)


def main():
    failed = False
    for file in sys.argv[1:]:
        with open(file) as text:
            manifests = list(yaml.safe_load_all(text))
        for manifest in manifests:
            complaints = []
            try:
                if manifest["apiVersion"].startswith("serving.kserve.io/"):
                    for complaint in check_runtime(manifest):
                        complaints.append(complaint)
                elif manifest["apiVersion"].startswith("kubeflow.org/"):
                    complaints += check_mpi_job(manifest)
                else:
                    kubernetes_validate.validate(manifest, VERSION, strict=True)
            except kubernetes_validate.ValidationError as error:
                complaints.append(f"{'.'.join(map(str, error.path))}: {error.message}")
            print(f"{file}: {manifest['kind']}: {'; '.join(complaints) or 'ok'}")
            failed = failed or bool(complaints)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
