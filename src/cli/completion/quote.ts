/** A word that every one of the three shells takes literally. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

export function words(texts: readonly string[]): string {
  return texts.map(quote).join(' ');
}
