import { print } from '../terminal.ts';
import { findProtocol, type Protocol } from './protocol.ts';

/** Shows images in the terminal. */
export interface TerminalImages {
  /** Starts to detect the protocol of the terminal. */
  prepare(): void;
  /** Shows an image where the terminal supports that. */
  show(bytes: Uint8Array): Promise<void>;
}

/** @param wanted false shows nothing */
export function terminalImages(wanted: boolean): TerminalImages {
  let protocolFound: Promise<Protocol | null> | undefined;
  const find = () => {
    protocolFound ??= wanted ? findProtocol() : Promise.resolve(null);
    return protocolFound;
  };
  return {
    prepare: () => void find(),
    async show(bytes) {
      const protocol = await find();
      if (protocol === null) return;
      // Imported here, because few terminals show images.
      const { encodeForTerminal } = await import('./encode.ts');
      const encoded = await encodeForTerminal(protocol, bytes);
      if (encoded !== null) await print(`${encoded}\n`);
    },
  };
}
