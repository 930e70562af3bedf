/** `text` and attributes come as written: entities are not decoded. */
type Hooks = {
  openTag: (name: string, attributes: () => Record<string, string>) => void;
  closeTag: (name: string) => void;
  text: (text: string) => void;
  cdata: (text: string) => void;
};

export class Parser {
  on<Name extends keyof Hooks>(name: Name, hook: Hooks[Name]): this;
  /** Both throw an Error where the XML is not well-formed, and what a hook throws. */
  write(xml: string): this;
  end(): void;
}
