type Joined<Parts extends readonly object[]> = Parts extends readonly [
  infer Part,
  ...infer Others extends readonly object[],
]
  ? Pick<Part, keyof Part> & Joined<Others>
  : unknown;

/**
 * One object with the public members of several: its methods are bound to the object that they come from. So a
 * driver is made of one class for each kind of record, and no class passes calls on.
 *
 * @throws Error if two parts have different members of one name: a call would reach only one of them
 */
export function joined<const Parts extends readonly object[]>(...parts: Parts): Joined<Parts> {
  const whole = {};
  const members = new Map<string, PropertyDescriptor>();
  for (const part of parts) {
    for (const [name, member] of membersOf(part)) {
      const known = members.get(name);
      if (known && (known.value !== member.value || known.get !== member.get)) {
        throw new Error(`two parts of the store have a member ${name}`);
      }
      if (known) continue;
      members.set(name, member);
      const { value } = member;
      const bound = typeof value === 'function' && { value: value.bind(part), writable: true };
      const read = { get: () => Reflect.get(part, name) };
      Object.defineProperty(whole, name, { configurable: true, ...(bound || read) });
    }
  }
  return whole as Joined<Parts>;
}

function* membersOf(part: object): Generator<[name: string, member: PropertyDescriptor], void> {
  for (let owner = part; owner !== Object.prototype; owner = Object.getPrototypeOf(owner)) {
    for (const entry of Object.entries(Object.getOwnPropertyDescriptors(owner))) {
      if (entry[0] !== 'constructor') yield entry;
    }
  }
}
