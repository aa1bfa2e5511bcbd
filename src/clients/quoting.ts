/** Values within the languages of configurations and programs. Pages load this file alone for their snippets. */

/**
 * A text within the quotes that the blocks of a language have. `txt` has none.
 *
 * @param language of the fence of a block in README.md
 */
export function escaped(text: string, language: string): string {
  if (language === 'txt') return text;
  // JSON, TOML, YAML and Python have double quotes. TOML wants DEL escaped.
  const inner = JSON.stringify(text).slice(1, -1).replaceAll('\x7f', '\\u007f');
  return language === 'js' ? inner.replaceAll("'", "\\'") : inner;
}

/** A text between single quotes for a POSIX shell. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A text as a word of a POSIX shell, with quotes where it needs them. */
export function wordOf(text: string): string {
  return /^[\w./:=@%+,-]+$/.test(text) ? text : shellQuoted(text);
}

/**
 * Commands with values in their words, each quoted as a whole. The name of a variable before a value is no part of it.
 *
 * @param replaced fills in the values of a word
 */
export function wordsFilled(commands: string, replaced: (word: string) => string): string {
  return commands.replace(/[^\s"'=]+/g, (word) => {
    const whole = replaced(word);
    return whole === word ? word : wordOf(whole);
  });
}
