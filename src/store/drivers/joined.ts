type Joined<Parts extends readonly object[]> = Parts extends readonly [
  infer Part,
  ...infer Others extends readonly object[],
]
  ? Pick<Part, keyof Part> & Joined<Others>
  : unknown;

/**
 * One object with the public members of several: its methods are bound to the object that they come from. So a
 * driver is made of one class for each kind of record, and no class passes calls on.
 */
export function joined<const Parts extends readonly object[]>(...parts: Parts): Joined<Parts> {
  const whole = {};
  for (const part of parts) {
    for (let owner = part; owner !== Object.prototype; owner = Object.getPrototypeOf(owner)) {
      for (const name of Object.getOwnPropertyNames(owner)) {
        if (name === 'constructor' || Object.hasOwn(whole, name)) continue;
        Object.defineProperty(whole, name, { configurable: true, ...memberOf(part, name) });
      }
    }
  }
  return whole as Joined<Parts>;
}

function memberOf(part: object, name: string): PropertyDescriptor {
  const value: unknown = Reflect.get(part, name);
  return typeof value === 'function'
    ? { value: value.bind(part), writable: true }
    : { get: () => Reflect.get(part, name) };
}
