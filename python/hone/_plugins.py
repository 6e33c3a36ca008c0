"""Where the package hone-cuda lies, for the program and the extension module to find."""
import importlib.util
import os


def _folder_of(module: str) -> str | None:
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None
    places = spec.submodule_search_locations if spec else None
    return next(iter(places), None) if places else None


def point_to_cuda() -> None:
    """Names the plugin of hone-cuda and the cuBLASLt of NVIDIA's package in the environment, where
    these are installed and the user names none."""
    if "HONE_CUDA_PLUGIN" not in os.environ:
        folder = _folder_of("hone_cuda")
        if folder is None:
            return
        os.environ["HONE_CUDA_PLUGIN"] = os.path.join(folder, "libhone_cuda.so")
    if "HONE_CUBLASLT" in os.environ:
        return
    # A package for CUDA 13 and later has all libraries in one folder, one for CUDA 12 its own.
    for module in ("nvidia.cu13", "nvidia.cublas"):
        libraries = os.path.join(_folder_of(module) or "", "lib")
        for name in sorted(os.listdir(libraries)) if os.path.isdir(libraries) else []:
            if name.startswith("libcublasLt.so."):
                os.environ["HONE_CUBLASLT"] = os.path.join(libraries, name)
                return
