// Classify texts with a portable model: classify model.bin < texts
//
// Build: c++ -std=c++17 -O2 classify.cpp -o classify
//
// Reads one text per line and prints its labels with scores, separated by tabs. With -0, texts are
// separated by null characters and may contain line breaks.
#include <iomanip>
#include <iostream>

#include "wordclass_model.hpp"

int main(int argc, char** argv) {
  const bool uses_null = argc == 3 && std::string(argv[1]) == "-0";
  if (argc != 2 && !uses_null) {
    std::cerr << "usage: classify [-0] model.bin < texts\n";
    return 2;
  }
  try {
    const wordclass::Model model = wordclass::Model::read(argv[argc - 1]);
    std::cout << std::setprecision(9);
    for (std::string text; std::getline(std::cin, text, uses_null ? '\0' : '\n');) {
      const char* separator = "";
      for (const wordclass::Prediction& prediction : model.predict(text)) {
        std::cout << separator << prediction.label << '\t' << prediction.score;
        separator = "\t";
      }
      std::cout << '\n';
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
