/** Characters by the names of entities that all of XML has (XML 1.0, 4.6). */
const CHARACTERS: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
]);

const ENTITIES: ReadonlyMap<string, string> = new Map(
  [...CHARACTERS].map(([name, character]) => [character, `&${name};`]),
);

/** A text as the content of an element of XML, Pango or HTML. */
export function escapeXml(text: string): string {
  return text.replace(/[&<>]/g, (character) => ENTITIES.get(character)!);
}

/** The text that the content of an element stands for. Unknown entities stay as they are written. */
export function unescapeXml(content: string): string {
  return content.replace(
    /&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]+));/gi,
    (entity, decimal, hex, name) => {
      if (name !== undefined) return CHARACTERS.get(name) ?? entity;
      const point = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
      return point <= 0x10ffff ? String.fromCodePoint(point) : entity;
    },
  );
}
