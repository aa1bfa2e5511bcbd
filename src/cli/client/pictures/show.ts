import { print } from '../../terminal.ts';
import { findProtocol, type Protocol } from './protocol.ts';

/** Shows pictures to whoever looks on. */
export interface PictureShow {
  /** Finds out what the terminal can, while there is time. */
  prepare(): void;
  /** Shows a picture where the terminal can; nothing elsewhere. */
  show(bytes: Uint8Array): Promise<void>;
}

/** @param wanted whether anybody wants to see them */
export function pictureShow(wanted: boolean): PictureShow {
  let finding: Promise<Protocol | null> | undefined;
  const find = () => {
    finding ??= wanted ? findProtocol() : Promise.resolve(null);
    return finding;
  };
  return {
    prepare: () => void find(),
    async show(bytes) {
      const protocol = await find();
      if (protocol === null) return;
      // All that draws is loaded only where there is something to draw on.
      const { drawing } = await import('./drawing.ts');
      const drawn = await drawing(protocol, bytes);
      if (drawn !== null) await print(`${drawn}\n`);
    },
  };
}
