import { z } from "#shared/foundation/zod.ts";
import { eanCode, houseNumber, lineOf, orNull, postalCode } from "#shared/values/fields.ts";
import { houseNumberAddition } from "#shared/values/text.ts";

const fields = {
  ean_code: eanCode(),
  street: orNull(lineOf(1, 120)).meta({ description: "Street; taken from the EAN register if omitted" }),
  house_number: houseNumber().meta({
    description: "Such as 12, 12a, 12-2 or 12 bis; number and addition are split. JSON numbers are taken too",
    example: "12a",
  }),
  house_number_addition: orNull(lineOf(1, 10)).meta({
    description: "Addition to the house number, unless house_number has it",
  }),
  postal_code: postalCode().meta({
    description: "Dutch postal code; may have a space and lower case",
    example: "1234AB",
  }),
  city: orNull(lineOf(1, 120)).meta({ description: "Town; taken from the EAN register if omitted" }),
};

/** A connection in the form SQL takes. */
export type ConnectionInput = {
  ean_code: string;
  postal_code: string;
  house_number: number;
  house_number_addition: string | null;
  street: string | null;
  city: string | null;
};

export const ConnectionInput = z
  .object(fields)
  .transform(
    ({ house_number, house_number_addition, ...rest }): ConnectionInput => ({
      ...rest,
      house_number: house_number.number,
      house_number_addition: houseNumberAddition(house_number_addition) ?? house_number.addition,
    }),
  )
  .meta({
    id: "ConnectionInput",
    description: "The EAN and its address; the EAN register fills in an omitted street and city",
  });

/** Only the fields that were sent: an omitted field keeps its value. */
export const ConnectionChange = z
  .object({
    ...fields,
    ean_code: orNull(fields.ean_code),
    street: fields.street.meta({ description: "Street" }),
    house_number: orNull(fields.house_number).meta({ description: "House number; JSON numbers are taken too" }),
    postal_code: orNull(fields.postal_code).meta({
      description: "Dutch postal code; may have a space and lower case",
    }),
    city: fields.city.meta({ description: "Town" }),
  })
  .transform(({ ean_code, street, house_number, house_number_addition, postal_code, city }) => {
    const addition = houseNumberAddition(house_number_addition);
    return {
      ean_code: ean_code ?? undefined,
      street: street ?? undefined,
      house_number: house_number?.number,
      // a new house number also replaces the old addition
      house_number_addition: house_number ? (addition ?? house_number.addition) : (addition ?? undefined),
      postal_code: postal_code ?? undefined,
      city: city ?? undefined,
    };
  })
  .meta({
    id: "ConnectionChange",
    description:
      "Omitted, null and empty fields keep their value. A new house_number also replaces the addition, with yours " +
      "or with none",
  });
