/** A number with its noun, as `1 file` or `2 files`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** The words of a text with white space between them, for long lists. */
export const words = (text: string): readonly string[] => text.match(/\S+/g) ?? [];
