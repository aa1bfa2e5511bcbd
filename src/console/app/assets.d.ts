/** A style that a view loads with itself: the address of the file, relative to the module. */
declare module '*.css' {
  const address: string;
  export default address;
}

/** The text of a document. */
declare module '*.md' {
  const text: string;
  export default text;
}
