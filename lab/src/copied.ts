// Texts to copy, quoted so that no scenario, which may come from a stranger, can end the quotes. Pasting is typing: a
// control character in the text would be a key, so none is left.

const bytes = new TextEncoder();

/**
 * A text for `printf %b` between single quotes, in any shell. What is not a printable ASCII character is an octal
 * number, and so are quotes, backslashes and exclamation marks; new lines stay, so that the scenario can be read.
 */
const forPrintf = (text: string): string =>
  text.replace(/[^\n -~]|['\\!]/gu, (one) =>
    [...bytes.encode(one)].map((byte) => `\\0${byte.toString(8).padStart(3, "0")}`).join(""),
  );

/** A text between three quotation marks in Python. */
const forPython = (text: string): string =>
  text
    .replace(/[^\n -~]|[\\"]/gu, (one) => {
      const code = one.codePointAt(0)!;
      if (one === '"') return one;
      if (one === "\\") return "\\\\";
      if (code < 256) return `\\x${code.toString(16).padStart(2, "0")}`;
      return `\\U${code.toString(16).padStart(8, "0")}`;
    })
    .replace(/"""/g, '\\"\\"\\"');

/** Only digits: a seed may come from a link. */
const digits = (seed: string): string => (/^\d{1,20}$/.test(seed) ? seed : "1");

/** The name of a file, made of small letters, digits and `-`. */
export function fileName(name: string): string {
  return (
    name
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^-|-$/g, "")
      .slice(0, 60) || "scenario"
  );
}

/** Commands for a shell that write the scenario and run it. */
export function commandLine(text: string, name: string, seed: string): string {
  const file = `${fileName(name)}.toml`;
  return `printf '%b' '${forPrintf(text.trimEnd())}\n' > ${file}\nwifair run ${file} --seed ${digits(seed)}\n`;
}

/** A script in Python that runs the scenario. */
export function python(text: string, seed: string): string {
  return `import wifair\n\nscenario = wifair.Scenario.from_text("""\\\n${forPython(text.trimEnd())}\n""")\nresults = wifair.run(scenario, seeds=[${digits(seed)}], series="100 ms")\nprint(results.flows["goodput_bps"])\n`;
}
