/** The part of a Map or a WeakMap that finds and adds values. */
interface Values<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): unknown;
}

/** The value of a key, which is made and added where the map has none (TC39 proposal upsert). */
export function getOrInsert<Key, Value extends {}>(
  map: Values<Key, Value>,
  key: Key,
  make: () => Value,
): Value {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}
