#include "formats/pickle.h"

#include <gmock/gmock.h>

namespace gp::formats {
namespace {

using ::testing::HasSubstr;
using Kind = Pickle::Value::Kind;

// Python's pickles of {'n': -2, 'long': 2**40, 'itos': {0: '\n', 1: 'é', 2: '€', 3: '\\'}, 'stoi':
// {the inverse of itos}}, by protocol, in hexadecimal.
const std::string_view kFiles[] = {
    "286470300a566e0a70310a492d320a73566c6f6e670a70320a4c313039393531313632373737364c0a735669"
    "746f730a70330a286470340a49300a565c75303030610a70350a7349310a56e90a70360a7349320a565c7532"
    "3061630a70370a7349330a565c75303035630a70380a73735673746f690a70390a28647031300a67350a4930"
    "0a7367360a49310a7367370a49320a7367380a49330a73732e",
    "7d71002858010000006e71014afeffffff58040000006c6f6e6771024c313039393531313632373737364c0a"
    "580400000069746f7371037d7104284b0058010000000a71054b015802000000c3a971064b025803000000e2"
    "82ac71074b0358010000005c710875580400000073746f6971097d710a2868054b0068064b0168074b026808"
    "4b0375752e",
    "80027d71002858010000006e71014afeffffff58040000006c6f6e6771028a06000000000001580400000069"
    "746f7371037d7104284b0058010000000a71054b015802000000c3a971064b025803000000e282ac71074b03"
    "58010000005c710875580400000073746f6971097d710a2868054b0068064b0168074b0268084b0375752e",
    "80037d71002858010000006e71014afeffffff58040000006c6f6e6771028a06000000000001580400000069"
    "746f7371037d7104284b0058010000000a71054b015802000000c3a971064b025803000000e282ac71074b03"
    "58010000005c710875580400000073746f6971097d710a2868054b0068064b0168074b0268084b0375752e",
    "8004955e000000000000007d94288c016e944afeffffff8c046c6f6e67948a060000000000018c0469746f73"
    "947d94284b008c010a944b018c02c3a9944b028c03e282ac944b038c015c94758c0473746f69947d94286805"
    "4b0068064b0168074b0268084b0375752e",
    "8005955e000000000000007d94288c016e944afeffffff8c046c6f6e67948a060000000000018c0469746f73"
    "947d94284b008c010a944b018c02c3a9944b028c03e282ac944b038c015c94758c0473746f69947d94286805"
    "4b0068064b0168074b0268084b0375752e",
};

// Pickles of {'itos': an object whose __reduce__ calls os.system('id')}, likewise.
const std::string_view kMalicious[] = {
    "286470300a5669746f730a70310a63706f7369780a73797374656d0a70320a285669640a70330a7470340a52"
    "70350a732e",
    "7d7100580400000069746f73710163706f7369780a73797374656d0a71022858020000006964710374710452"
    "7105732e",
    "80027d7100580400000069746f73710163706f7369780a73797374656d0a7102580200000069647103857104"
    "527105732e",
    "80037d7100580400000069746f73710163706f7369780a73797374656d0a7102580200000069647103857104"
    "527105732e",
    "80049527000000000000007d948c0469746f73948c05706f736978948c0673797374656d9493948c02696494"
    "85945294732e",
    "80059527000000000000007d948c0469746f73948c05706f736978948c0673797374656d9493948c02696494"
    "85945294732e",
};

std::string Bytes(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

std::string ErrorOf(std::string_view bytes) {
  return Message(Pickle::Parse(bytes, "meta.pkl").status());
}

TEST(Pickle, ReadsWhatEveryProtocolOfPythonWrites) {
  for (const std::string_view hex : kFiles) {
    const auto pickle = Pickle::Parse(Bytes(hex), "meta.pkl");
    ASSERT_TRUE(pickle.ok()) << pickle.status();
    EXPECT_EQ(pickle->Find(pickle->root(), "n")->number, -2);
    EXPECT_EQ(pickle->Find(pickle->root(), "long")->number, int64_t{1} << 40);
    EXPECT_EQ(pickle->Find(pickle->root(), "missing"), nullptr);
    const Pickle::Value& itos = *pickle->Find(pickle->root(), "itos");
    ASSERT_EQ(itos.kind, Kind::kDictionary);
    std::string text;
    for (const auto& [id, character] : itos.entries) {
      text += std::to_string(pickle->at(id).number) + pickle->at(character).text;
    }
    EXPECT_EQ(text, "0\n1é2€3\\");
    const Pickle::Value& stoi = *pickle->Find(pickle->root(), "stoi");
    EXPECT_EQ(pickle->Find(stoi, "€")->number, 2);
  }
}

TEST(Pickle, EveryTruncationIsRefused) {
  for (const std::string_view hex : kFiles) {
    const std::string file = Bytes(hex);
    for (size_t size = 0; size < file.size(); ++size) {
      EXPECT_THAT(ErrorOf(file.substr(0, size)), HasSubstr("meta.pkl: byte ")) << size;
    }
    EXPECT_THAT(ErrorOf(file + "x"), HasSubstr("before the file does"));
  }
}

TEST(Pickle, AnyChangedByteIsReadOrRefusedInBounds) {
  for (const std::string_view hex : kFiles) {
    const std::string file = Bytes(hex);
    for (size_t i = 0; i < file.size(); ++i) {
      for (int bit = 0; bit < 8; ++bit) {
        std::string changed = file;
        changed[i] = static_cast<char>(changed[i] ^ 1 << bit);
        const auto pickle = Pickle::Parse(changed, "meta.pkl");
        if (pickle.ok()) continue;
        EXPECT_THAT(Message(pickle.status()), HasSubstr("meta.pkl: byte "));
      }
    }
  }
}

TEST(Pickle, RefusesAnObjectThatAsksForAProgramInEveryProtocol) {
  for (const std::string_view hex : kMalicious) {
    EXPECT_THAT(ErrorOf(Bytes(hex)), HasSubstr("never runs code"));
  }
}

TEST(Pickle, RefusesEveryInstructionThatCouldRunSomething) {
  // os.system("id"), called with each instruction that can call something.
  for (const std::string_view file :
       {std::string_view("cos\nsystem\n(S'id'\ntR."),
        std::string_view("\x80\x02"
                         "cos\nsystem\nq\x00.",
                         16),
        std::string_view("(S'id'\nios\nsystem\n."), std::string_view("(cos\nsystem\nS'id'\no."),
        std::string_view("\x80\x04\x8c\x02os\x8c\x06system\x93."), std::string_view("}b."),
        std::string_view("\x82\x01."), std::string_view("Pid\n."), std::string_view("}Q."),
        std::string_view("\x80\x02}}\x81.")}) {
    EXPECT_THAT(ErrorOf(file), HasSubstr("never runs code")) << file;
  }
  EXPECT_THAT(ErrorOf("cos\nsystem\n."), HasSubstr("byte 0: instruction 0x63"));
}

TEST(Pickle, RefusesWhatIsNoProgramOfItsMachine) {
  EXPECT_THAT(ErrorOf("."), HasSubstr("0 values at the end"));
  EXPECT_THAT(ErrorOf("}}."), HasSubstr("2 values at the end"));
  EXPECT_THAT(ErrorOf("\x80\x09."), HasSubstr("protocol 9"));
  EXPECT_THAT(ErrorOf("u."), HasSubstr("the stack has no mark"));
  EXPECT_THAT(ErrorOf("s."), HasSubstr("SETITEM"));
  EXPECT_THAT(ErrorOf("K\x01K\x02K\x03s."), HasSubstr("no dictionary"));
  EXPECT_THAT(ErrorOf("}(K\x01u."), HasSubstr("a key without a value"));
  EXPECT_THAT(ErrorOf("}h\x07."), HasSubstr("memo 7 does not exist"));
  EXPECT_THAT(ErrorOf("\x94."), HasSubstr("no value to memoize"));
  EXPECT_THAT(ErrorOf(std::string(200, '(')), HasSubstr("nested too deeply"));
  EXPECT_THAT(ErrorOf("X\xff\xff\xff\x7f"), HasSubstr("2147483647 more bytes"));
  EXPECT_THAT(ErrorOf("\x8d\xff\xff\xff\xff\xff\xff\xff\xff"), HasSubstr("too large"));
  EXPECT_THAT(ErrorOf("V\\ud800\n."), HasSubstr("bad escape"));
  EXPECT_THAT(ErrorOf("\x8c\x01\xff."), HasSubstr("not UTF-8"));
  EXPECT_THAT(ErrorOf("I12x\n."), HasSubstr("a whole number"));
  EXPECT_THAT(ErrorOf("\x8a\x09"), HasSubstr("at most 7"));
}

TEST(Pickle, SharedValuesTakeNoMoreMemoryThanTheFile) {
  // Each dictionary contains the previous one a hundred times.
  std::string file = "}\x94";
  for (int depth = 1; depth < 100; ++depth) {
    file += "}\x94(";
    for (int i = 0; i < 100; ++i) {
      file += "K";
      file += static_cast<char>(i);
      file += "h";
      file += static_cast<char>(depth - 1);
    }
    file += "u";
  }
  // A hundred dictionaries stay on the stack; each one refers to the previous one.
  EXPECT_THAT(ErrorOf(file + "."), HasSubstr("100 values at the end"));
  EXPECT_THAT(ErrorOf(std::string(2'000'000, '}')), HasSubstr("more than 1000000 values"));
  std::string entries = "}\x94";
  while (entries.size() < 6'000'000) entries += std::string_view("h\0h\0s", 5);
  EXPECT_THAT(ErrorOf(entries), HasSubstr("more than 1000000 values"));
}

}  // namespace
}  // namespace gp::formats
