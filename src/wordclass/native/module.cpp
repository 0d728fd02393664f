// The one extension module: its four parts are submodules.

#include "shared.h"

NB_MODULE(_native, module) {
    nb::module_ engine = module.def_submodule("engine");
    engine::bind(engine);
    nb::module_ text_reader = module.def_submodule("text_reader");
    text_reader::bind(text_reader);
    nb::module_ solver = module.def_submodule("solver");
    solver::bind(solver);
    nb::module_ convolution = module.def_submodule("convolution");
    convolution::bind(convolution);
}
